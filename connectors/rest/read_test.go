package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/connectortest"
)

// open returns the streams of an API that the handler answers for.
func open(t *testing.T, o *Options, h http.HandlerFunc) map[string]syncd.Stream {
	t.Helper()
	return connectortest.Open(t, "http://api.test/v1", o, h)
}

// one returns the only stream of an API with this list.
func one(t *testing.T, s Stream, h http.HandlerFunc) syncd.Stream {
	t.Helper()
	return open(t, &Options{Lists: map[string]Stream{"items": s}}, h)["items"]
}

// walk reads a stream from its first page to its last, at most twenty.
func walk(t *testing.T, s syncd.Stream, req syncd.Request) (ids []string, last syncd.Page) {
	t.Helper()
	for range 20 {
		page, err := s.Fetch(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.Records {
			if r.Err != nil {
				t.Fatalf("%s: %v", r.Raw, r.Err)
			}
			ids = append(ids, r.ID)
		}
		if page.Next == "" {
			return ids, page
		}
		req.Page = page.Next
	}
	t.Fatal("the list does not end")
	return nil, last
}

// Each way of paging reads the list of five to its end, by these requests.
func TestPaging(t *testing.T) {
	const size = 2
	elements := func(from int) (list []string) {
		for i := from; i < min(from+size, 5); i++ {
			list = append(list, fmt.Sprintf(`{"id":%d}`, i))
		}
		return list
	}
	number := func(q, or string) int { n, _ := strconv.Atoi(strings.TrimPrefix(orText(q, or), "t")); return n }
	for name, c := range map[string]struct {
		paging Paging
		answer func(r *http.Request, h http.Header) (from int, more string)
		want   string // the queries
	}{
		"numbers": {Paging{By: "page", Param: "p", Size: size, SizeParam: "n"}, func(r *http.Request, _ http.Header) (int, string) {
			return (number(r.FormValue("p"), "0") - 1) * size, ""
		}, "n=2&p=1 n=2&p=2 n=2&p=3 n=2&p=4"},
		"numbers from 0 with an end": {Paging{By: "page", Param: "p", First: new(int), More: "body.more"}, func(r *http.Request, _ http.Header) (int, string) {
			n := number(r.FormValue("p"), "9")
			return n * size, fmt.Sprintf(`"more": %v`, n < 2)
		}, "p=0 p=1 p=2"},
		"offset with a total": {Paging{By: "offset", Param: "from", More: "page + count < body.total"}, func(r *http.Request, _ http.Header) (int, string) {
			return number(r.FormValue("from"), "9"), `"total": 5`
		}, "from=0 from=2 from=4"},
		"offset": {Paging{By: "offset", Param: "from"}, func(r *http.Request, _ http.Header) (int, string) {
			return number(r.FormValue("from"), "9"), ""
		}, "from=0 from=2 from=4 from=5"},
		"token in the body": {Paging{By: "cursor", Param: "c", Next: "body.meta.next"}, func(r *http.Request, _ http.Header) (int, string) {
			n := number(r.FormValue("c"), "0")
			if n+size < 5 {
				return n, fmt.Sprintf(`"meta": {"next": "t%d"}`, n+size)
			}
			return n, `"meta": null`
		}, " c=t2 c=t4"},
		"a number beyond a float": {Paging{By: "cursor", Param: "c", Next: "body.next"}, func(r *http.Request, _ http.Header) (int, string) {
			if r.FormValue("c") == "" {
				return 0, `"next": 9007199254740993`
			}
			return 2, `"next": null`
		}, " c=9007199254740993"},
		"token in a header": {Paging{By: "cursor", Param: "c", Next: `headers["x-next"]`}, func(r *http.Request, h http.Header) (int, string) {
			n := number(r.FormValue("c"), "0")
			if n+size < 5 {
				h.Set("X-Next", fmt.Sprint("t", n+size))
			}
			return n, ""
		}, " c=t2 c=t4"},
		"keyset": {Paging{By: "cursor", Param: "after", Next: "last.id", More: "body.more"}, func(r *http.Request, _ http.Header) (int, string) {
			n := number(r.FormValue("after"), "-1") + 1
			return n, fmt.Sprintf(`"more": %v`, n+size < 5)
		}, " after=1 after=3"},
		"keyset without a flag": {Paging{By: "cursor", Param: "after", Next: "last.id"}, func(r *http.Request, _ http.Header) (int, string) {
			return number(r.FormValue("after"), "-1") + 1, ""
		}, " after=1 after=3 after=4"},
		"link": {Paging{By: "link"}, func(r *http.Request, h http.Header) (int, string) {
			n := number(r.FormValue("from"), "0")
			if n+size < 5 {
				h.Set("Link", fmt.Sprintf(`<http://api.test/v1/items?from=%d>; rel="next"`, n+size))
			}
			return n, ""
		}, " from=2 from=4"},
		"a relative URL": {Paging{By: "url", Next: "body.links.next"}, func(r *http.Request, _ http.Header) (int, string) {
			n := number(r.FormValue("from"), "0")
			if n+size < 5 {
				return n, fmt.Sprintf(`"links": {"next": "?from=%d"}`, n+size)
			}
			return n, `"links": {"next": ""}`
		}, " from=2 from=4"},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			s := one(t, Stream{Path: "/items", Records: "body.items", Paging: c.paging}, func(w http.ResponseWriter, r *http.Request) {
				asked = append(asked, r.URL.RawQuery)
				from, more := c.answer(r, w.Header())
				if more != "" {
					more = ", " + more
				}
				fmt.Fprintf(w, `{"items": [%s]%s}`, strings.Join(elements(from), ","), more)
			})
			ids, _ := walk(t, s, syncd.Request{})
			want := "0 1 2 3 4"
			if name == "a number beyond a float" {
				want = "0 1 2 3"
			}
			if got := strings.Join(ids, " "); got != want {
				t.Errorf("got %s", got)
			}
			if got := strings.Join(asked, " "); got != c.want {
				t.Errorf("got the queries %q, want %q", got, c.want)
			}
		})
	}
}

func orText(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// The provider's bytes are passed on as they came.
func TestBytesAreKept(t *testing.T) {
	element := `{ "id" : 9007199254740993 , "a":1.10,"u":"\u00e9é", "updated_at":"2026-06-01T10:00:00Z" }`
	s := one(t, Stream{Path: "/items", Mark: Mark{Field: "updated_at"}}, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "\xef\xbb\xbf[%s]", element)
	})
	page, err := s.Fetch(t.Context(), syncd.Request{})
	if err != nil || len(page.Records) != 1 {
		t.Fatal(page, err)
	}
	if r := page.Records[0]; string(r.Data) != element || r.ID != "9007199254740993" || r.Mark != 1780308000_000_000_000 {
		t.Errorf("got %s %s %d", r.Data, r.ID, r.Mark)
	}
}

// One bad element costs one record.
func TestOneBadElement(t *testing.T) {
	s := one(t, Stream{Path: "/items", ID: Key{"id"}, Mark: Mark{Field: "at"}, Deleted: `state == "gone"`, Keep: `kind != "draft"`}, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `[{"id":1}, null, "x", {"id":{}}, {"id":2,"id":3}, {"id":4,"at":"soon"}, {"id":5,"kind":"draft"}, {"id":6,"state":"gone"}, {"id":1.5}, {"id":7,"state":[1]}]`)
	})
	page, err := s.Fetch(t.Context(), syncd.Request{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range page.Records {
		reason := ""
		if e, ok := errors.AsType[*syncd.RejectError](r.Err); ok {
			reason = e.Reason
		}
		got = append(got, fmt.Sprintf("%s %v %s", r.ID, r.Deleted, reason))
	}
	want := []string{"1 false ", " false unexpected_type", " false unexpected_type", " false bad_external_id", " false duplicate_key",
		"4 false bad_time", "6 true ", " false bad_external_id", "7 false "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestIDOfSeveralFields(t *testing.T) {
	s := one(t, Stream{Path: "/items", ID: Key{"vendor", "no", `"v" + string(n)`}}, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `[{"vendor":"a/b","no":"1","n":2}, {"vendor":"a","no":"b/1","n":2}, {"vendor":"","no":1,"n":2}]`)
	})
	page, err := s.Fetch(t.Context(), syncd.Request{})
	if err != nil {
		t.Fatal(err)
	}
	if a, b, c := page.Records[0], page.Records[1], page.Records[2]; a.ID != "a%2Fb/1/v2" || b.ID != "a/b%2F1/v2" || c.Err == nil {
		t.Errorf("got %q, %q, %v", a.ID, b.ID, c.Err)
	}
}

func TestFormats(t *testing.T) {
	type row struct {
		ID, Data string
		Bad      bool
	}
	for name, c := range map[string]struct {
		s    Stream
		body string
		want []row
	}{
		"ndjson": {Stream{Format: "ndjson"}, "{\"id\":1}\r\n\n{\"id\": 2 }\nnot json\n{\"id\":3}", []row{
			{"1", `{"id":1}`, false}, {"2", `{"id": 2 }`, false}, {"", "", true}, {"3", `{"id":3}`, false}}},
		"csv": {Stream{Format: "csv"}, "\xef\xbb\xbfid,name\n1,\"a, \"\"b\"\"\"\n2\n3,<é>\n", []row{
			{"1", `{"id":"1","name":"a, \"b\""}`, false}, {"", "", true}, {"3", `{"id":"3","name":"\u003cé\u003e"}`, false}}},
		"csv with bytes that are not UTF-8": {Stream{Format: "csv"}, "id\nM\xfcller\nM\xf6ller\n3\n", []row{{"", "", true}, {"", "", true}, {"3", `{"id":"3"}`, false}}},
		"xml with a comment behind it":      {Stream{Format: "xml", Records: "body.list.item", ID: Key{"n"}}, "<list><item><n>1</n></item></list>\n<!-- end -->\n", []row{{"1", `{"n":"1"}`, false}}},
		"xml": {Stream{Format: "xml", Records: "body.list.item", ID: Key{`$env["-key"]`}}, `<?xml version="1.0"?><list><item key="a"><n>1.50</n></item><item key="b"/></list>`, []row{
			{"a", `{"-key":"a","n":"1.50"}`, false}, {"b", `{"-key":"b"}`, false}}},
		"xml with one":          {Stream{Format: "xml", Records: "body.list.item", ID: Key{"n"}}, `<list><item><n>1</n></item></list>`, []row{{"1", `{"n":"1"}`, false}}},
		"xml with none":         {Stream{Format: "xml", Records: "body.list.item", ID: Key{"n"}}, `<list></list>`, nil},
		"a list that may lack":  {Stream{Records: "body.items ?? []"}, `{"total": 0}`, nil},
		"a list that is null":   {Stream{Records: "body.items"}, `{"items": null}`, nil},
		"a list deep in a body": {Stream{Records: "body.a.b"}, `{"a":{"b":[{"id":1}]}}`, []row{{"1", `{"id":1}`, false}}},
	} {
		t.Run(name, func(t *testing.T) {
			c.s.Path = "/items"
			accept := ""
			s := one(t, c.s, func(w http.ResponseWriter, r *http.Request) {
				accept = r.Header.Get("Accept")
				io.WriteString(w, c.body)
			})
			page, err := s.Fetch(t.Context(), syncd.Request{})
			if err != nil {
				t.Fatal(err)
			}
			var got []row
			for _, r := range page.Records {
				got = append(got, row{r.ID, string(r.Data), r.Err != nil})
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if !strings.Contains(accept, orText(c.s.Format, "json")) {
				t.Errorf("asked for %s", accept)
			}
		})
	}
}

// What is not whole, or not a list, is an error and never an empty page.
func TestBadAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		s          Stream
		body, want string
	}{
		"empty":               {Stream{}, " \n", "empty"},
		"no list":             {Stream{Records: "body.items"}, `{"total": 0, "data": []}`, `no field "items" (the answer is an object of total, data)`},
		"an object":           {Stream{Records: "body.items"}, `{"items": {}}`, "expected a list"},
		"cut":                 {Stream{Records: "body.items"}, `{"items": [{"id":1},`, "not as expected"},
		"two values":          {Stream{}, `[] []`, "not as expected"},
		"cut after the list":  {Stream{Records: "body.items ?? []"}, `{"items": [], "more"`, "not as expected"},
		"no header line":      {Stream{Format: "csv"}, "", "no header line"},
		"columns named alike": {Stream{Format: "csv"}, "id,id\n1,2\n", "the column 2"},
		"open quotes":         {Stream{Format: "csv"}, "id,b\n1,\"x\n2,y\n", "not as expected"},
		"cut XML":             {Stream{Format: "xml", Records: "body.a.b"}, "<a><b>", "not as expected"},
		"a token that is a list": {Stream{Records: "body.items", Paging: Paging{By: "cursor", Param: "c", Next: "body.next"}},
			`{"items": [{"id":1}], "next": [1]}`, "body.next: it comes to a list"},
		"more, and nothing to go on from": {Stream{Records: "body.items", Paging: Paging{By: "cursor", Param: "c", Next: "last.id", More: "body.more"}},
			`{"items": [], "more": true}`, "no record to go on from"},
		"XML of another kind": {Stream{Format: "xml", Records: "body.list.item"}, `<error>session expired</error>`, `no element "list"`},
		"XML and then text":   {Stream{Format: "xml", Records: "body.list.item"}, `<list/> junk`, "behind the root"},
		"XML with two roots":  {Stream{Format: "xml", Records: "body.list.item"}, `<list/><list/>`, "second root"},
		"none to go on from": {Stream{Records: "body.items", Paging: Paging{By: "cursor", Param: "c", Next: "last.id"}},
			`{"items": [null, {"id": {}}]}`, "no record to go on from"},
		"more, and no link": {Stream{Records: "body.items", Paging: Paging{By: "link", More: "body.more"}},
			`{"items": [{"id":1}], "more": true}`, "no link to it"},
		"more, and no offset": {Stream{Records: "body.items", Paging: Paging{By: "offset", Param: "o", More: "body.more"}},
			`{"items": [], "more": true}`, "says not how to go on"},
		"a header that is not UTF-8": {Stream{Format: "csv"}, "id,n\xe4me\n1,2\n", "not UTF-8"},
		"more, and no token": {Stream{Records: "body.items", Paging: Paging{By: "cursor", Param: "c", Next: "body.next", More: "body.more"}},
			`{"items": [{"id":1}], "more": true, "next": null}`, "body.next says not how to go on"},
		"another origin": {Stream{Records: "body.items", Paging: Paging{By: "url", Next: "body.next"}},
			`{"items": [{"id":1}], "next": "http://evil.test/"}`, "another origin"},
		"a flag that is a text": {Stream{Records: "body.items", Paging: Paging{By: "page", Param: "p", More: "body.more"}},
			`{"items": [{"id":1}], "more": "no"}`, "not to true or false"},
	} {
		t.Run(name, func(t *testing.T) {
			c.s.Path = "/items"
			s := one(t, c.s, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, c.body) })
			page, err := s.Fetch(t.Context(), syncd.Request{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %+v, %v; want %q", page, err, c.want)
			}
		})
	}
}

func TestRules(t *testing.T) {
	o := &Options{
		Errors: []ErrorRule{
			{When: `body.error == "cursor_expired"`, As: "resync"},
			{When: `body.error == "slow_down"`, As: "throttled"},
			{When: "body.ok == false", Message: "body.error"},
			{Status: 410, As: "resync"},
			{Status: 404, When: `body.code == "disabled"`, As: "not_modified"},
			{Status: 403, Message: "body.message"},
		},
		Lists: map[string]Stream{"items": {Path: "/items", Records: "body.items"}},
	}
	for _, c := range []struct {
		status int
		body   string
		is     error
		said   string
	}{
		{200, `{"ok": true, "items": []}`, nil, ""},
		{200, `{"ok": false, "error": "no_access"}`, nil, "the provider says: no_access"},
		{200, `{"ok": false, "error": "cursor_expired", "items": []}`, syncd.ErrResync, ""},
		{410, `gone`, syncd.ErrResync, ""},
		{404, `{"code": "disabled"}`, syncd.ErrNotModified, ""},
		{404, `{"code": "other"}`, nil, "404 Not Found"},
		{403, `{"message": "ask the owner"}`, nil, "403 Forbidden: the provider says: ask the owner"},
		{403, `no`, nil, "403 Forbidden"},
	} {
		s := open(t, o, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(c.status)
			io.WriteString(w, c.body)
		})["items"]
		_, err := s.Fetch(t.Context(), syncd.Request{})
		switch {
		case c.is != nil && !errors.Is(err, c.is), c.is == nil && c.said == "" && err != nil,
			c.said != "" && (err == nil || !strings.Contains(err.Error(), c.said)):
			t.Errorf("%d %s: got %v, want %v %s", c.status, c.body, err, c.is, c.said)
		}
		if refused, ok := errors.AsType[*syncd.HTTPError](err); c.is == nil && c.status >= 400 && (!ok || refused.Status != c.status) {
			t.Errorf("%d %s: got %T, want the refusal", c.status, c.body, err)
		}
	}
	api, err := o.API()
	if err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]bool{`{"ok": false, "error": "slow_down"}`: true, `{"ok": false, "error": "x"}`: false, `[]`: false, `no JSON`: false} {
		if got := api.Rate.Throttled(200, nil, []byte(body)); got != want {
			t.Errorf("%s: throttled %v", body, got)
		}
	}
}

// Nothing is new at the beginning of a list, and not in its middle.
func TestNotModifiedInTheMiddle(t *testing.T) {
	s := one(t, Stream{Path: "/items", Paging: Paging{By: "page", Param: "p"}, Errors: []ErrorRule{{Status: 404, As: "not_modified"}}}, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(404)
	})
	if _, err := s.Fetch(t.Context(), syncd.Request{}); !errors.Is(err, syncd.ErrNotModified) {
		t.Errorf("first page: %v", err)
	}
	_, err := s.Fetch(t.Context(), syncd.Request{Page: "2"})
	if refused, ok := errors.AsType[*syncd.HTTPError](err); !ok || refused.Status != 404 || errors.Is(err, syncd.ErrNotModified) {
		t.Errorf("later page: %v, want the refusal, by which a dead token is known", err)
	}
}

// A row without an id is set aside as what it was read as, and can be given so.
func TestReplayOfARow(t *testing.T) {
	s := one(t, Stream{Path: "/items", Format: "csv", Mark: Mark{Field: "at", Format: "unix"}}, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "id,at\n1,soon\n")
	})
	page, err := s.Fetch(t.Context(), syncd.Request{})
	if err != nil || page.Records[0].Err == nil || page.Records[0].Raw != nil || string(page.Records[0].Data) != `{"id":"1","at":"soon"}` {
		t.Fatalf("got %+v, %v", page, err)
	}
	if r, err := s.Replay(t.Context(), []byte(`{"id":"1","at":"60"}`)); err != nil || r.Err != nil || r.Mark != syncd.UnixSeconds(60) {
		t.Errorf("got %+v, %v", r, err)
	}
	if _, err := s.Replay(t.Context(), []byte("1,60")); err == nil || !strings.Contains(err.Error(), "JSON object") {
		t.Errorf("got %v", err)
	}
}

func TestParents(t *testing.T) {
	o := &Options{Lists: map[string]Stream{
		"repos":  {Path: "/repos", Deleted: "gone", Paging: Paging{By: "page", Param: "p"}},
		"issues": {ForEach: "repos", Path: "/repos/{{ parent.full.name }}/issues", Query: map[string]string{"repo": "{{ part }}"}},
		"tags":   {Parts: Parts{From: `split("a b", " ")`}, Path: "/tags/{{ part }}"},
	}}
	var asked []string
	streams := open(t, o, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RequestURI())
		switch {
		case r.URL.Path == "/v1/repos" && r.FormValue("p") == "1":
			io.WriteString(w, `[{"id":"x/1","full":{"name":"o/n"}}, {"id":2,"full":{"name":"o/m m"}}, {"no":"id"}]`)
		case r.URL.Path == "/v1/repos" && r.FormValue("p") == "2":
			io.WriteString(w, `[{"id":3,"gone":true}]`)
		case r.URL.Path == "/v1/repos":
			io.WriteString(w, `[]`)
		default:
			io.WriteString(w, `[{"id":1}]`)
		}
	})
	parts, err := streams["issues"].Parts(t.Context())
	if diff := cmp.Diff([]string{"x%2F1", "2"}, parts); err != nil || diff != "" {
		t.Fatal(err, diff)
	}
	asked = nil
	for _, part := range parts {
		if page, err := streams["issues"].Fetch(t.Context(), syncd.Request{Part: part}); err != nil || len(page.Records) != 1 {
			t.Errorf("%s: %v, %v", part, page, err)
		}
	}
	want := []string{"/v1/repos/o/n/issues?repo=x%2F1", "/v1/repos/o/m%20m/issues?repo=2"}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Error(diff)
	}
	if _, err := streams["issues"].Fetch(t.Context(), syncd.Request{Part: "9"}); err == nil || !strings.Contains(err.Error(), "repos 9 is no longer listed") {
		t.Errorf("got %v", err)
	}
	if parts, err := streams["tags"].Parts(t.Context()); err != nil || strings.Join(parts, " ") != "a b" {
		t.Errorf("got %v, %v", parts, err)
	}
}

// A page that the provider has filtered to nothing is not the end where it says
// that there is more.
func TestAnEmptyPageInTheMiddle(t *testing.T) {
	n := 0
	s := one(t, Stream{Path: "/items", Records: "body.items", Paging: Paging{By: "page", Param: "p", More: "body.more"}}, func(w http.ResponseWriter, r *http.Request) {
		n++
		fmt.Fprintf(w, `{"items": [%s], "more": %v}`, map[int]string{1: `{"id":1}`, 3: `{"id":3}`}[n], n < 3)
	})
	if ids, _ := walk(t, s, syncd.Request{}); strings.Join(ids, " ") != "1 3" {
		t.Errorf("got %q", ids)
	}
}

// The list goes on behind the last record that could be read.
func TestTheLastThatCouldBeRead(t *testing.T) {
	var asked []string
	s := one(t, Stream{Path: "/items", Records: "body.items", Paging: Paging{By: "cursor", Param: "after", Next: "last.id", More: "body.more"}}, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RawQuery)
		fmt.Fprintf(w, `{"items": [{"id":%d}, {"id":{}}, null], "more": %v}`, len(asked), len(asked) < 3)
	})
	req := syncd.Request{}
	for range 3 {
		page, err := s.Fetch(t.Context(), req)
		if err != nil || len(page.Records) != 3 {
			t.Fatal(page, err)
		}
		req.Page = page.Next
	}
	if got := strings.Join(asked, " "); got != " after=1 after=2" || req.Page != "" {
		t.Errorf("asked %q, then %q", got, req.Page)
	}
}

// A provider that does not heed the page would be asked for ever.
func TestParentsThatRepeat(t *testing.T) {
	o := &Options{Lists: map[string]Stream{
		"repos":  {Path: "/repos", Paging: Paging{By: "page", Param: "p"}},
		"issues": {ForEach: "repos", Path: "/repos/{{ part }}/issues"},
	}}
	s := open(t, o, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, `[{"id":1},{"id":2}]`) })["issues"]
	if parts, err := s.Parts(t.Context()); err == nil || !strings.Contains(err.Error(), "does the provider heed the page") {
		t.Errorf("got %v, %v", parts, err)
	}
}

// A query by POST says the same twice for the same request.
func TestPost(t *testing.T) {
	type query struct {
		Since any `json:"since"`
		After any `json:"after"`
	}
	var asked []query
	s := one(t, Stream{
		Path: "/search", Body: `{"since": {{ toJSON(since) }}, "after": {{ toJSON(page) }}}`, Records: "body.items",
		Mark: Mark{Field: "at", Format: "unix"}, Order: "ascending", Paging: Paging{By: "cursor", Next: "body.next"},
		Headers: map[string]string{"X-Page": "{{ page }}"},
	}, func(w http.ResponseWriter, r *http.Request) {
		var q query
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil || r.Method != "POST" || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s: %v", r.Method, r.Header, err)
		}
		if got := r.Header.Get("X-Page"); got != fmt.Sprint(q.After) && q.After != nil {
			t.Errorf("header %q", got)
		}
		asked = append(asked, q)
		io.WriteString(w, `{"items": [{"id": 1, "at": 60}], "next": "b"}`)
	})
	for _, req := range []syncd.Request{{}, {Since: syncd.UnixSeconds(60)}, {Since: syncd.UnixSeconds(60), Page: "b"}, {Since: syncd.UnixSeconds(60), Page: "b"}} {
		if _, err := s.Fetch(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
	want := []query{{nil, nil}, {60.0, nil}, {60.0, "b"}, {60.0, "b"}}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Error(diff)
	}
}

func TestSyncTokens(t *testing.T) {
	s := one(t, Stream{Path: "/items", Records: "body.items", Sync: Sync{Param: "token", Next: "body.sync"}, Paging: Paging{By: "cursor", Param: "c", Next: "body.next"}},
		func(w http.ResponseWriter, r *http.Request) {
			if r.FormValue("c") == "" {
				io.WriteString(w, `{"items": [], "next": "2", "sync": "no"}`)
				return
			}
			fmt.Fprintf(w, `{"items": [], "sync": %q}`, "after-"+r.FormValue("token"))
		})
	if _, last := walk(t, s, syncd.Request{Sync: "s1"}); last.Sync != "after-s1" {
		t.Errorf("got %q", last.Sync)
	}
}

func TestRateHeaders(t *testing.T) {
	q := RateHeaders{Remaining: "X-Left", Reset: "X-Again"}.quota()
	for again, want := range map[string]string{"30": "00:00:30", "1780308000": "10:00:00", "1780308000123": "10:00:00", "soon": "zero", "": "zero"} {
		h := http.Header{}
		h.Set("X-Left", "0")
		h.Set("X-Again", again)
		now := syncd.UnixSeconds(1780272000).Time() // midnight
		got := "zero"
		if r := q(h, now); !r.Known {
			t.Errorf("%q: not known", again)
		} else if !r.Reset.IsZero() {
			got = r.Reset.UTC().Format("15:04:05")
		}
		if got != want {
			t.Errorf("%q: got %s, want %s", again, got, want)
		}
	}
	if q(http.Header{}, syncd.UnixSeconds(1).Time()).Known {
		t.Error("known without a header")
	}
}

// A record that was set aside is read as it would be today.
func TestReplay(t *testing.T) {
	s := one(t, Stream{Path: "/items", Mark: Mark{Field: "at", Format: "unix"}, Keep: "ok"}, func(http.ResponseWriter, *http.Request) {})
	r, err := s.Replay(context.Background(), []byte(` {"id":1,"at":60,"ok":true} `))
	if err != nil || r.Err != nil || r.ID != "1" || r.Mark != syncd.UnixSeconds(60) {
		t.Errorf("got %+v, %v", r, err)
	}
	if _, err := s.Replay(context.Background(), []byte(`{"id":1}`)); err == nil {
		t.Error("what is no record was replayed")
	}
}

// What decides the content of one list has that list read again, and no other.
func TestSettings(t *testing.T) {
	settings := func(change func(*Options)) map[string]string {
		o := &Options{Lists: map[string]Stream{
			"a": {Path: "/a", Mark: Mark{Field: "at"}},
			"b": {ForEach: "a", Path: "/a/{{ parent.x }}/b"},
		}}
		change(o)
		out := map[string]string{}
		for name, s := range open(t, o, nil) {
			out[name] = s.Settings
		}
		return out
	}
	was := settings(func(*Options) {})
	for name, c := range map[string]struct {
		change func(s Stream) Stream
		want   string // the streams that are read again
	}{
		"the id":     {func(s Stream) Stream { s.ID = Key{"key"}; return s }, "a"},
		"the mark":   {func(s Stream) Stream { s.Mark.Format = "unix"; return s }, "a"},
		"the path":   {func(s Stream) Stream { s.Path = "/other"; return s }, "a b"},
		"overlap":    {func(s Stream) Stream { s.Overlap = 1; return s }, ""},
		"the paging": {func(s Stream) Stream { s.Paging = Paging{By: "page", Param: "p"}; return s }, "a"},
		"the size":   {func(s Stream) Stream { s.Paging.Size, s.Paging.SizeParam = 5, "n"; return s }, ""},
		"an error":   {func(s Stream) Stream { s.Errors = []ErrorRule{{Status: 410, As: "resync"}}; return s }, ""},
	} {
		is := settings(func(o *Options) { o.Lists["a"] = c.change(o.Lists["a"]) })
		var got []string
		for _, stream := range []string{"a", "b"} {
			if is[stream] != was[stream] {
				got = append(got, stream)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q are read again, want %q", name, got, c.want)
		}
	}
}
