package connectortest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/connectortest"
)

type (
	item  = connectortest.Item
	facts = connectortest.Facts
	fetch = func(context.Context, syncd.Request) (syncd.Page, error)
)

// options are those of the connectors of these tests: a list of streams.
type options struct {
	make func(c *syncd.Client) []syncd.Stream
}

func (o *options) Streams(c *syncd.Client) ([]syncd.Stream, error) { return o.make(c), nil }

// A protocol is a way of listing: how it is asked, and how it is faked.
type protocol struct {
	stream syncd.Stream
	facts  facts
	fetch  func(c *syncd.Client) fetch // nil is good
	fake   func(w *connectortest.World, rw http.ResponseWriter, r *http.Request)
}

func (p protocol) subject() connectortest.Subject {
	return subject(map[string]protocol{"things": p})
}

func subject(streams map[string]protocol) connectortest.Subject {
	s := connectortest.Subject{
		Streams: map[string]facts{},
		Fake: func(w *connectortest.World) http.Handler {
			return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				for name, p := range streams {
					if strings.HasSuffix(r.URL.Path, "/"+name) {
						r.SetPathValue("stream", name)
						p.fake(w, rw, r)
						return
					}
				}
				if !strings.HasSuffix(r.URL.Path, "/parts") {
					http.NotFound(rw, r)
					return
				}
				json.NewEncoder(rw).Encode(w.Parts(r.URL.Query().Get("stream")))
			})
		},
	}
	for name, p := range streams {
		s.Streams[name] = p.facts
	}
	s.Connector = syncd.Connector{
		Name: "good", BaseURL: "https://api.good.test/v1", Auth: syncd.Auth{Scheme: syncd.Bearer},
		Options: func() syncd.Options {
			return &options{func(c *syncd.Client) []syncd.Stream {
				var out []syncd.Stream
				for name, p := range streams {
					x := p.stream
					x.Name = name
					if p.fetch == nil {
						p.fetch = api{stream: name}.fetch
					}
					x.Fetch = p.fetch(c)
					if x.Parts != nil {
						x.Parts = parts(c, name)
					}
					out = append(out, x)
				}
				return out
			}}
		},
	}
	return s
}

func parts(c *syncd.Client, stream string) func(context.Context) ([]string, error) {
	return func(ctx context.Context) ([]string, error) {
		resp, err := c.Get(ctx, "/parts", url.Values{"stream": {stream}})
		if err != nil {
			return nil, err
		}
		var out []string
		if err := syncd.DecodeBody(resp.Body, &out); err != nil {
			return nil, err
		}
		if out == nil {
			return nil, errors.New("the answer holds no list of parts")
		}
		return out, nil
	}
}

// An element is what the good connector must know of one.
type element struct {
	ID      syncd.ID        `json:"id"`
	Seq     int64           `json:"seq"`
	Created syncd.Timestamp `json:"created"`
	Changed syncd.Timestamp `json:"changed"`
	Deleted bool            `json:"deleted"`
}

func byChange(e element) syncd.Record {
	return syncd.Record{ID: string(e.ID), Mark: e.Changed.Mark(), Deleted: e.Deleted}
}

func byCreation(e element) syncd.Record {
	return syncd.Record{ID: string(e.ID), Mark: e.Created.Mark()}
}

func bySeq(e element) syncd.Record {
	return syncd.Record{ID: string(e.ID), Mark: syncd.Mark(e.Seq)}
}

func byNothing(e element) syncd.Record { return syncd.Record{ID: string(e.ID)} }

// render is an item as the good provider shows it.
func render(it item) string {
	return fmt.Sprintf(`{"id":%s,"rev":%d,"note":"<&> %d","seq":%d,"created":%q,"changed":%q,"deleted":%v}`,
		it.ID, it.Rev, it.N, it.Seq, it.Created.Format(time.RFC3339Nano), it.Changed.Format(time.RFC3339Nano), it.Deleted)
}

// An api is the good provider's:
//
//	GET [/PART]/things?since=TIME&from=NUMBER&sync=TOKEN&page=TOKEN
//	{"things": [...], "next": TOKEN, "sync": TOKEN}
//
// where next may be in a Link header, or in place of it "more": true, and the
// next page is asked for by the last record's id.
type api struct {
	stream string
	record func(element) syncd.Record // nil is byChange
	link   bool
	keyset bool
	post   bool // the request is a body
}

func (a api) fetch(c *syncd.Client) fetch {
	if a.record == nil {
		a.record = byChange
	}
	if a.stream == "" {
		a.stream = "things"
	}
	return func(ctx context.Context, req syncd.Request) (syncd.Page, error) {
		resp, err := a.ask(ctx, c, req)
		if refused, ok := errors.AsType[*syncd.HTTPError](err); ok && refused.Status == http.StatusGone {
			return syncd.Page{}, fmt.Errorf("%w: %w", syncd.ErrResync, err)
		}
		if err != nil {
			return syncd.Page{}, err
		}
		records, err := syncd.Decode(resp.Body, "things", a.record)
		if err != nil {
			return syncd.Page{}, err
		}
		page := syncd.Page{Records: records}
		if page.Next, err = a.next(resp, records); err != nil {
			return syncd.Page{}, err
		}
		page.Sync, err = syncd.Token(resp.Body, "sync")
		return page, err
	}
}

func (a api) ask(ctx context.Context, c *syncd.Client, req syncd.Request) (*syncd.Response, error) {
	query := url.Values{"limit": {"100"}}
	if req.Since != 0 {
		query.Set("since", req.Since.Time().Format(time.RFC3339Nano))
		query.Set("from", strconv.FormatInt(int64(req.Since), 10))
	}
	if req.Sync != "" {
		query.Set("sync", req.Sync)
	}
	if req.Page != "" {
		query.Set("page", req.Page)
	}
	path := "/" + a.stream
	if req.Part != "" {
		path = "/" + req.Part + path
	}
	if a.post {
		return c.Post(ctx, path, "application/x-www-form-urlencoded", []byte(query.Encode()))
	}
	return c.Get(ctx, path, query)
}

func (a api) next(resp *syncd.Response, records []syncd.Record) (string, error) {
	switch {
	case a.link:
		next, err := resp.NextLink()
		if err != nil || next == "" {
			return "", err
		}
		u, err := url.Parse(next)
		return u.Query().Get("page"), err
	case a.keyset:
		var end struct {
			More bool `json:"more"`
		}
		if err := syncd.DecodeBody(resp.Body, &end); err != nil || !end.More {
			return "", err
		}
		for _, r := range slices.Backward(records) {
			if r.ID != "" {
				return r.ID, nil
			}
		}
		return "", errors.New("more is to come, and there is no record to go on from")
	}
	return syncd.Token(resp.Body, "next")
}

// A server is the good provider: an order, a filter and a way of paging.
type server struct {
	order   func([]item) []item
	since   bool // it honours since
	seq     bool // it honours from
	offset  bool // page tokens are offsets; else they name the last item of a page
	numbers bool // page tokens are page numbers
	sync    bool
	link    bool
	keyset  bool
}

func (s server) serve(w *connectortest.World, rw http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if r.Method == http.MethodPost {
		body, _ := io.ReadAll(r.Body)
		q, _ = url.ParseQuery(string(body))
	}
	part := strings.Split(strings.TrimPrefix(r.URL.Path, "/v1/"), "/")[0]
	if part == r.PathValue("stream") {
		part = ""
	}
	items := w.Items(r.PathValue("stream"), part)
	if s.since {
		items = connectortest.Since(items, q.Get("since"))
	}
	if from, _ := strconv.ParseInt(q.Get("from"), 10, 64); s.seq {
		items = slices.DeleteFunc(items, func(it item) bool { return it.Seq < from })
	}
	token := w.SyncToken() // as of the first page: later ones carry it along
	page := q.Get("page")
	if s.sync {
		if first, rest, ok := strings.Cut(page, "."); ok {
			token, page = first, rest
		}
		if old := q.Get("sync"); old != "" {
			changed, ok := w.ChangedSince(r.PathValue("stream"), part, old)
			if !ok {
				http.Error(rw, `{"error":"gone"}`, http.StatusGone)
				return
			}
			items = changed
		} else {
			items = slices.DeleteFunc(items, func(it item) bool { return it.Deleted })
		}
	}
	s.answer(w, rw, r, q, s.sorted(items), page, token)
}

func (s server) answer(w *connectortest.World, rw http.ResponseWriter, r *http.Request, q url.Values, items []item, page, token string) {
	size, from := w.Limit(q.Get("limit")), 0
	switch n, _ := strconv.Atoi(page); {
	case s.offset:
		from = n
	case s.numbers:
		from = max(n-1, 0) * size
	default:
		rest, ok := s.after(items, page)
		if !ok {
			http.Error(rw, `{"error":"no such page"}`, http.StatusBadRequest)
			return
		}
		items = rest
	}
	these, following := connectortest.Cut(items, from, size)
	next := ""
	switch {
	case following == 0:
	case s.numbers:
		next = strconv.Itoa(from/size + 2)
	case s.offset:
		next = strconv.Itoa(following)
	default:
		last := these[len(these)-1]
		next = fmt.Sprintf("%s_%d_%d_%d", last.ID, last.Changed.UnixNano(), last.Created.UnixNano(), last.N)
	}
	out := map[string]json.RawMessage{"things": json.RawMessage(w.Elements(these, render))}
	switch {
	case s.keyset:
		out["more"] = json.RawMessage(strconv.FormatBool(next != ""))
	case s.link && next != "":
		q.Set("page", next)
		rw.Header().Set("Link", fmt.Sprintf(`<%s?%s>; rel="next"`, r.URL.Path, q.Encode()))
	case next != "" && s.sync:
		out["next"] = json.RawMessage(strconv.Quote(token + "." + next))
	case next != "":
		out["next"] = json.RawMessage(strconv.Quote(next))
	case s.sync:
		out["sync"] = json.RawMessage(strconv.Quote(token))
	}
	text := ""
	for name, value := range out { // as they are: json.Marshal would rewrite the elements
		text += fmt.Sprintf(",%q:%s", name, value)
	}
	fmt.Fprintf(rw, "{%s}", strings.TrimPrefix(text, ","))
}

func (s server) sorted(items []item) []item {
	if s.order != nil {
		return s.order(items)
	}
	slices.SortFunc(items, func(a, b item) int { return int(a.N - b.N) })
	return items
}

// after leaves the items behind the one that a token names, in the order of the
// list: an id, or an id with the time and the number that it was sorted by then.
func (s server) after(items []item, page string) ([]item, bool) {
	if page == "" {
		return items, true
	}
	fields := strings.Split(page, "_")
	if len(fields) == 1 {
		return connectortest.After(items, page)
	}
	var n [3]int64
	for i := range n {
		n[i], _ = strconv.ParseInt(fields[i+1], 10, 64)
	}
	last := item{ID: "anchor", Changed: time.Unix(0, n[0]), Created: time.Unix(0, n[1]), N: n[2]}
	items = slices.DeleteFunc(items, func(it item) bool { return it.ID == fields[0] })
	return connectortest.After(s.sorted(append(items, last)), "anchor")
}

const millisecond = time.Millisecond

// good are ways of listing that a connector can be right with.
var good = map[string]protocol{
	"ascending with offsets": {
		stream: syncd.Stream{Order: syncd.Ascending, Overlap: time.Minute, Replay: syncd.Replay(byChange)},
		facts:  facts{Grain: millisecond},
		fake:   server{order: connectortest.Oldest, since: true, offset: true}.serve,
	},
	"ascending with page numbers": {
		stream: syncd.Stream{Order: syncd.Ascending, Precision: time.Second},
		fake:   server{order: connectortest.Oldest, since: true, numbers: true}.serve,
	},
	"ascending with tokens": {
		stream: syncd.Stream{Order: syncd.Ascending},
		facts:  facts{Deletions: connectortest.Told, EmptyPages: true, Grain: millisecond},
		fake:   server{order: connectortest.Oldest, since: true}.serve,
	},
	"descending": {
		stream: syncd.Stream{Order: syncd.Descending, Overlap: 5 * time.Minute},
		facts:  facts{EmptyPages: true},
		fake:   server{order: connectortest.Newest}.serve,
	},
	"descending with since and links": {
		stream: syncd.Stream{Order: syncd.Descending},
		facts:  facts{Deletions: connectortest.Told, Grain: millisecond},
		fetch:  api{link: true}.fetch,
		fake:   server{order: connectortest.Newest, since: true, link: true}.serve,
	},
	"descending with offsets": {
		stream: syncd.Stream{Order: syncd.Descending},
		facts:  facts{Deletions: connectortest.Never},
		fake:   server{order: connectortest.Newest, offset: true}.serve,
	},
	"unordered": {
		fake: server{}.serve,
	},
	"unordered with since": {
		stream: syncd.Stream{Overlap: time.Minute},
		facts:  facts{EmptyPages: true, Deletions: connectortest.Told},
		fake:   server{since: true}.serve,
	},
	"unordered by the last id": {
		fetch: api{keyset: true}.fetch,
		fake:  server{keyset: true}.serve,
	},
	"unordered without marks": {
		facts: facts{Mark: connectortest.Unmarked},
		fetch: api{record: byNothing}.fetch,
		fake:  server{}.serve,
	},
	"sync tokens": {
		facts: facts{EmptyPages: true, Deletions: connectortest.Told, Grain: millisecond},
		fake:  server{sync: true}.serve,
	},
	"sync tokens without a word of deletions": {
		fake: server{sync: true}.serve,
	},
	"snapshot": {
		stream: syncd.Stream{Snapshot: true},
		facts:  facts{EmptyPages: true, Mark: connectortest.Unmarked},
		fetch:  api{record: byNothing}.fetch,
		fake:   server{}.serve,
	},
	"append by number": {
		stream: syncd.Stream{Order: syncd.Ascending, Append: true, Sequence: true},
		fetch:  api{record: bySeq}.fetch,
		fake:   server{seq: true}.serve,
	},
	"append newest first": {
		stream: syncd.Stream{Order: syncd.Descending, Append: true},
		facts:  facts{Mark: connectortest.Created},
		fetch:  api{record: byCreation, keyset: true}.fetch,
		fake:   server{order: newestCreated, keyset: true}.serve,
	},
	"by creation, newest first": {
		stream: syncd.Stream{Order: syncd.Descending},
		facts:  facts{Mark: connectortest.Created},
		fetch:  api{record: byCreation}.fetch,
		fake:   server{order: newestCreated}.serve,
	},
	"parts": {
		stream: syncd.Stream{Order: syncd.Ascending, Precision: time.Second, Parts: func(context.Context) ([]string, error) { return nil, nil }},
		facts:  facts{Parts: []string{"one", "two", "three"}},
		fake:   server{order: connectortest.Oldest, since: true}.serve,
	},
	"snapshot in parts": {
		stream: syncd.Stream{Snapshot: true, Parts: func(context.Context) ([]string, error) { return nil, nil }},
		fake:   server{}.serve,
	},
	"search": {
		stream: syncd.Stream{Order: syncd.Ascending},
		fetch:  api{post: true}.fetch,
		fake:   server{order: connectortest.Oldest, since: true}.serve,
	},
	"everything on one page": {
		stream: syncd.Stream{Snapshot: true},
		facts:  facts{OnePage: true},
		fake: func(w *connectortest.World, rw http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(rw, `{"things":%s}`, w.Elements(w.Items("things", ""), render))
		},
	},
	"text ids": {
		facts: facts{
			ID:       func(n int64, _ time.Time) string { return fmt.Sprintf("it_%d/Ä", n) },
			RecordID: func(it item) string { return strings.ToUpper(it.ID) },
			OnePage:  true,
		},
		fetch: api{record: func(e element) syncd.Record {
			r := byChange(e)
			r.ID = strings.ToUpper(r.ID)
			return r
		}}.fetch,
		fake: func(w *connectortest.World, rw http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(rw, `{"things":%s}`, w.Elements(w.Items("things", ""), func(it item) string {
				return strings.Replace(render(it), `"id":`+it.ID, fmt.Sprintf(`"id":%q`, it.ID), 1)
			}))
		},
	},
}

func newestCreated(items []item) []item {
	slices.SortStableFunc(items, func(a, b item) int {
		if c := b.Created.Compare(a.Created); c != 0 {
			return c
		}
		return int(b.N - a.N)
	})
	return items
}

func TestGood(t *testing.T) {
	for name, p := range good {
		t.Run(name, func(t *testing.T) { connectortest.Run(t, p.subject()) })
	}
}

func TestSeveralStreams(t *testing.T) {
	connectortest.Run(t, subject(map[string]protocol{
		"customers": good["ascending with offsets"],
		"tickets":   good["descending"],
		"events":    good["sync tokens"],
	}))
}
