package notion

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/syncdhq/syncd"
)

func many(n, every int) []page {
	var out []page
	for i := range n {
		out = append(out, page{n: i + 1, edited: at(i * every), trash: i%10 == 3})
	}
	return out
}

// A search lists what is live and what is in the trash; later walks end where
// the live ones were edited before the bound, and read all of the trash.
func TestPages(t *testing.T) {
	f := &workspace{pages: many(1000, 20)}
	s := stream(t, f, "pages", nil)
	wantPages(t, walk(t, s, 0), f.pages)
	if len(f.asked) != 9+1 {
		t.Errorf("got %d requests, want 9 for 900 live pages and 1 for the trash", len(f.asked))
	}
	f.asked = nil
	f.pages[500].edited = at(30000)
	f.pages[501].trash = true // without counting as edited
	got := walk(t, s, syncd.At(at(29940)))
	if r := got[f.pages[500].id()]; r.Mark != syncd.At(at(30000)) {
		t.Errorf("the edited page: got %+v", r)
	}
	if r := got[f.pages[501].id()]; !r.Deleted {
		t.Errorf("the page in the trash: got %+v", r)
	}
	if len(f.asked) != 1+2 {
		t.Errorf("got %d requests, want 1 for the live pages and 2 for the trash", len(f.asked))
	}
	f.asked = nil
	walk(t, stream(t, f, "pages", func(o *Options) { o.Trash = false }), syncd.At(at(29940)))
	if len(f.asked) != 1 {
		t.Errorf("without the trash: got %d requests, want 1", len(f.asked))
	}
}

// Where absence counts as deletion, a walk over everything lists each page that is
// there, also one that is edited before the walk has come to it.
func TestEditedWhileItIsRead(t *testing.T) {
	for _, trash := range []bool{true, false} {
		f := &workspace{pages: many(350, 600)}
		f.pages = slices.DeleteFunc(f.pages, func(p page) bool { return p.trash })
		n := 0
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if n++; n == 2 {
				f.pages[5].edited = at(600 * 400)
			}
			f.ServeHTTP(w, r)
		})
		s := stream(t, h, "pages", func(o *Options) { o.Trash, o.Absence = trash, true })
		wantPages(t, walk(t, s, 0), f.pages)
		if want := map[bool]int{true: 6, false: 5}[trash]; n != want {
			t.Errorf("trash %v: got %d requests, want %d", trash, n, want)
		}
		f.asked = nil
		walk(t, s, syncd.At(at(600*399)))
		if want := map[bool]int{true: 2, false: 1}[trash]; len(f.asked) != want {
			t.Errorf("trash %v: a later walk made %d requests, want %d", trash, len(f.asked), want)
		}
	}
	f := &workspace{pages: many(1500, 0)} // all of one minute: any of them may have changed
	f.pages = slices.DeleteFunc(f.pages, func(p page) bool { return p.trash })
	s := stream(t, f, "pages", func(o *Options) { o.Absence = true })
	last := syncd.Request{Page: fmt.Sprintf(`{"trash":true,"newest":%d}`, syncd.At(at(0)))}
	if got := fetch(t, s, last); len(got.Records) != len(f.pages) || got.Next != "" {
		t.Errorf("all of one minute: got %d records and the token %q, want %d", len(got.Records), got.Next, len(f.pages))
	}
	f.most = 1000
	if _, err := s.Fetch(t.Context(), last); err == nil || !strings.Contains(err.Error(), "does not list it") {
		t.Errorf("more edits than are listed: got %v", err)
	}
	round := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"results":[],"has_more":%v,"next_cursor":"x"}`, !strings.Contains(body(r), "in_trash"))
	})
	if _, err := stream(t, round, "pages", nil).Fetch(t.Context(), last); err == nil || !strings.Contains(err.Error(), "comes round again") {
		t.Errorf("a cursor that comes round: got %v", err)
	}
}

// The bound itself is still listed, with everything that shows the same minute.
func TestTiesAtTheBound(t *testing.T) {
	f := &workspace{}
	for i := range 250 {
		f.pages = append(f.pages, page{n: i + 1, edited: at(600)})
	}
	f.pages = append(f.pages, page{n: 999, edited: at(0)}, page{n: 1000, edited: at(900)})
	got := walk(t, stream(t, f, "pages", nil), syncd.At(at(600)))
	for _, p := range f.pages {
		if _, ok := got[p.id()]; !ok && p.n != 999 {
			t.Errorf("page %d was lost", p.n)
		}
	}
	f.pages = slices.DeleteFunc(f.pages, func(p page) bool { return p.n == 999 })
	wantPages(t, walk(t, stream(t, f, "rows", nil), syncd.At(at(600))), f.pages)
}

// Rows arrive whole though the times that Notion shows are rounded up or down,
// also where more of them show one minute than are on a page.
func TestRowsArriveWhole(t *testing.T) {
	for _, every := range []int{1, 7, 20, 45, 90} {
		f := &workspace{pages: many(700, every)}
		f.pages = slices.DeleteFunc(f.pages, func(p page) bool { return p.trash })
		s := stream(t, f, "rows", nil)
		wantPages(t, walk(t, s, 0), f.pages)
		bound := syncd.At(f.pages[400].shown())
		want := slices.Clone(f.pages)
		wantPages(t, walk(t, s, bound), slices.DeleteFunc(want, func(p page) bool { return syncd.At(p.shown()) < bound }))
	}
}

// Where a query lists only so many rows, it is asked for again from the last
// one; by the engine, or by the token where the list is followed by that.
func TestRowsBeyondTheLimit(t *testing.T) {
	f := &workspace{pages: many(900, 5), most: 150}
	f.pages = slices.DeleteFunc(f.pages, func(p page) bool { return p.trash })
	s := stream(t, f, "rows", nil)
	wantPages(t, walk(t, s, 0), f.pages)
	s.Order = syncd.Unordered
	wantPages(t, walk(t, s, 0), f.pages)

	f.pages = nil
	for i := range 200 {
		f.pages = append(f.pages, page{n: i + 1, edited: at(60)})
	}
	req := syncd.Request{Part: sources[0], Since: syncd.At(at(60))}
	req.Page = fetch(t, s, req).Next
	if _, err := s.Fetch(t.Context(), req); err == nil || !strings.Contains(err.Error(), "2026-03-01T12:01:00Z") {
		t.Errorf("more rows in a minute than are listed: got %v, want an error that names the minute", err)
	}
}

// A search that is cut is no end, unless the bound was passed.
func TestSearchBeyondTheLimit(t *testing.T) {
	f := &workspace{pages: []page{{n: 1, edited: at(0)}, {n: 2, edited: at(60)}, {n: 3, edited: at(120)}}, most: 2}
	s := stream(t, f, "pages", nil)
	if _, err := s.Fetch(t.Context(), syncd.Request{}); err == nil || !strings.Contains(err.Error(), "does not list it") {
		t.Errorf("got %v, want an error", err)
	}
	if page := fetch(t, s, syncd.Request{Since: syncd.At(at(120))}); page.Next != `{"trash":true}` || len(page.Records) != 2 {
		t.Errorf("beyond the bound: got %d records and the token %q", len(page.Records), page.Next)
	}
	for i := range f.pages {
		f.pages[i].trash = true
	}
	if page := fetch(t, s, syncd.Request{Page: `{"trash":true}`}); page.Next != "" || len(page.Notes) != 1 {
		t.Errorf("a cut trash: got the token %q and the notes %q", page.Next, page.Notes)
	}
}

func TestRequests(t *testing.T) {
	noon := syncd.At(epoch)
	for _, c := range []struct {
		stream string
		req    syncd.Request
		want   string
	}{
		{"pages", syncd.Request{Since: noon}, `POST /v1/search {"filter":{"property":"object","value":"page"},"sort":{"timestamp":"last_edited_time","direction":"descending"},"page_size":100}`},
		{"data_sources", syncd.Request{Page: `{"trash":true,"cursor":"x"}`}, `POST /v1/search {"filter":{"property":"object","value":"data_source","in_trash":true},"sort":{"timestamp":"last_edited_time","direction":"descending"},"start_cursor":"x","page_size":100}`},
		{"users", syncd.Request{}, `GET /v1/users?page_size=100 `},
		{"users", syncd.Request{Page: "x"}, `GET /v1/users?page_size=100&start_cursor=x `},
		{"rows", syncd.Request{Part: "p"}, `POST /v1/data_sources/p/query {"sorts":[{"timestamp":"last_edited_time","direction":"ascending"}],"page_size":100}`},
		{"rows", syncd.Request{Part: "p", Since: noon}, `POST /v1/data_sources/p/query {"filter":{"timestamp":"last_edited_time","last_edited_time":{"on_or_after":"2026-03-01T11:59:00.000Z"}},"sorts":[{"timestamp":"last_edited_time","direction":"ascending"}],"page_size":100}`},
	} {
		var header http.Header
		asked := ""
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			header, asked = r.Header, r.Method+" "+r.URL.RequestURI()+" "+body(r)
			fmt.Fprint(w, `{"object":"list","results":[],"has_more":false,"next_cursor":null}`)
		})
		fetch(t, stream(t, h, c.stream, nil), c.req)
		if asked != c.want {
			t.Errorf("%s: asked\n%s, want\n%s", c.stream, asked, c.want)
		}
		if got, json := header.Get("Notion-Version"), header.Get("Content-Type"); got != "2026-03-11" || (json == "application/json") != strings.HasPrefix(c.want, "POST") {
			t.Errorf("%s: got the version %q and the content type %q", c.stream, got, json)
		}
	}
}

func TestFetchIsRepeatable(t *testing.T) {
	for _, name := range []string{"pages", "rows"} {
		f := &workspace{pages: many(600, 2)}
		s := stream(t, f, name, nil)
		req := syncd.Request{Part: sources[0]}
		for pages := 1; ; pages++ {
			one, two := fetch(t, s, req), fetch(t, s, req)
			if diff := cmp.Diff(one, two); diff != "" {
				t.Fatalf("%s: %+v: the second answer differs: %s", name, req, diff)
			}
			if req.Page = one.Next; req.Page == "" {
				if pages < 6 {
					t.Errorf("%s: got %d pages, want 6 or more", name, pages)
				}
				break
			}
		}
	}
}

func TestOneBadElementCostsOneRecord(t *testing.T) {
	list := `{"object":"list","has_more":false,"results":[{"id":"a","last_edited_time":"2026-03-01T12:00:00.000Z"},{"id":"b","last_edited_time":"soon"},
		null,{"last_edited_time":"2026-03-01T12:00:00.000Z"},{"id":"c"},{"id":"d","id":"e"},{"id":"f","in_trash":"yes"},{"id":"g","last_edited_time":"2026-03-01T12:00:00.000Z","in_trash":true}]}`
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write([]byte(list)) })
	for _, name := range []string{"pages", "rows"} {
		var got []string
		for _, r := range fetch(t, stream(t, h, name, nil), syncd.Request{Part: sources[0], Since: syncd.At(epoch)}).Records {
			got = append(got, fmt.Sprintf("%s %v %v %v", r.ID, r.Mark == syncd.At(epoch), r.Deleted, r.Err != nil))
		}
		want := []string{"a true false false", " false false true", " false false true", " true false false", "c false false false", " false false true", " false false true", "g true true false"}
		if name == "rows" {
			want[3] = " false false false" // its time must not count for the order
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(name, diff)
		}
	}
}

func TestBadAnswersAreErrors(t *testing.T) {
	for name, c := range map[string]struct{ body, want string }{
		"empty body":         {"", "not as expected"},
		"cut":                {`{"has_more":false,"results":[{"id":"a"}`, "not as expected"},
		"without has_more":   {`{"results":[],"next_cursor":null}`, "no field has_more"},
		"more, and no token": {`{"results":[],"has_more":true,"next_cursor":null}`, "gives no cursor"},
		"without the list":   {`{"has_more":false}`, "not as expected"},
		"a list in a list":   {`{"has_more":false,"results":{"results":[]}}`, "not as expected"},
	} {
		for name_, prefix := range map[string]string{"pages": "search: ", "users": "users: ", "rows": "data_source"} {
			h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write([]byte(c.body)) })
			_, err := stream(t, h, name_, nil).Fetch(t.Context(), syncd.Request{Part: sources[0]})
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(strings.ReplaceAll(err.Error(), "data source", "data_source"), prefix) {
				t.Errorf("%s, %s: got %v, want an error that says %q", name, name_, err, c.want)
			}
		}
	}
	s := stream(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `{"results":[],"has_more":false,"request_status":{"type":"incomplete"}}`)
	}), "users", nil)
	if _, err := s.Fetch(t.Context(), syncd.Request{}); err == nil {
		t.Error("users: a list that is cut was taken for whole")
	}
	for _, name := range []string{"pages", "rows"} {
		if _, err := stream(t, &workspace{}, name, nil).Fetch(t.Context(), syncd.Request{Page: "x"}); err == nil {
			t.Errorf("%s: a page token that is none was taken for one", name)
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		status     int
		code, want string
	}{
		{400, "validation_error", "validation_error: told by Notion"},
		{401, "unauthorized", "under credentials"},
		{403, "restricted_resource", "capability"},
		{404, "object_not_found", "add the connection"},
		{500, "internal_server_error", "internal_server_error"},
	} {
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { refuse(w, c.status, c.code, "told by Notion") })
		_, err := stream(t, h, "rows", nil).Fetch(t.Context(), syncd.Request{Part: sources[0], Page: `{"cursor":"x"}`})
		refused, ok := errors.AsType[*syncd.HTTPError](err)
		if !ok || refused.Status != c.status || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), sources[0]) {
			t.Errorf("%d: got %v, want it to say %q", c.status, err, c.want)
		}
	}
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Error(w, "<html>", http.StatusForbidden) })
	if _, err := stream(t, h, "users", nil).Fetch(t.Context(), syncd.Request{}); err == nil || strings.Contains(err.Error(), "html") {
		t.Errorf("a page for people: got %v", err)
	}
}

func TestParts(t *testing.T) {
	for name, c := range map[string]struct {
		answers map[string]string // by cursor
		want    []string
		err     string
	}{
		"pages": {answers: map[string]string{"": fmt.Sprintf(`{"results":[{"id":%q,"last_edited_time":7}],"has_more":true,"next_cursor":"a"}`, sources[0]), "a": fmt.Sprintf(`{"results":[{"id":%q}],"has_more":false}`, sources[1])}, want: sources},
		"none":  {answers: map[string]string{"": `{"results":[],"has_more":false}`}, err: "no database is shared"},
		"round": {answers: map[string]string{"": `{"results":[],"has_more":true,"next_cursor":"a"}`, "a": `{"results":[],"has_more":true,"next_cursor":"a"}`}, err: "comes round again"},
		"no id": {answers: map[string]string{"": `{"results":[{"object":"data_source"}],"has_more":false}`}, err: "not a UUID"},
		"slash": {answers: map[string]string{"": `{"results":[{"id":"a/b"}],"has_more":false}`}, err: "not a UUID"},
		"cut":   {answers: map[string]string{"": `{"results":[],"has_more":false,"request_status":{"type":"incomplete"}}`}, err: "does not list it"},
	} {
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			cursor := ""
			if _, rest, ok := strings.Cut(body(r), `"start_cursor":"`); ok {
				cursor = rest[:1]
			}
			fmt.Fprint(w, c.answers[cursor])
		})
		got, err := stream(t, h, "rows", nil).Parts(t.Context())
		if c.err == "" && (err != nil || !slices.Equal(got, c.want)) || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: got %v, %v, want %v, %q", name, got, err, c.want, c.err)
		}
	}
	chosen := func(o *Options) {
		o.DataSources = []string{strings.ToUpper(strings.ReplaceAll(sources[0], "-", "")), sources[1]}
	}
	if got, err := stream(t, http.NotFoundHandler(), "rows", chosen).Parts(t.Context()); err != nil || !slices.Equal(got, sources) {
		t.Errorf("chosen data sources: got %v, %v, want %v", got, err, sources)
	}
}

func TestOptions(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string // the option that is wrong, or the streams
	}{
		{Options{}, "pages data_sources users"},
		{Options{Only: []string{"rows", "users"}}, "users rows"},
		{Options{Only: []string{"databases"}}, "streams"},
		{Options{DataSources: []string{"1a2b"}}, "data_sources"},
		{Options{DataSources: []string{"../11111111000040008000000000000001"}}, "data_sources"},
	} {
		var got []string
		list, err := c.o.Streams(nil)
		for _, s := range list {
			got = append(got, s.Name)
			if increments := s.Name == "pages" || s.Name == "data_sources"; s.Increments != increments {
				t.Errorf("%s: absence is proof, or it is not: got %v", s.Name, s.Increments)
			}
		}
		if bad, ok := errors.AsType[*syncd.OptionError](err); ok {
			got = []string{bad.Option}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%+v: got %v, want %s", c.o, got, c.want)
		}
	}
	trusting := Options{Absence: true}
	if list, err := trusting.Streams(nil); err != nil || list[0].Increments {
		t.Errorf("with absence: got %v, %v", list[0].Increments, err)
	}
}
