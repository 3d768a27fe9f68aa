package connectortest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/connectortest"
)

// A mistake is a good connector with one thing wrong, and what the suite must
// say to it.
type mistake struct {
	of    string // the good protocol
	fetch func(c *syncd.Client) fetch
	alter func(p *protocol)
	in    string // the scenario that finds it
	says  []string
}

// asking changes what a good Fetch is asked.
func asking(a api, f func(*syncd.Request)) func(c *syncd.Client) fetch {
	return func(c *syncd.Client) fetch {
		good := a.fetch(c)
		return func(ctx context.Context, req syncd.Request) (syncd.Page, error) {
			f(&req)
			return good(ctx, req)
		}
	}
}

// answering changes what a good Fetch returns.
func answering(a api, f func(syncd.Request, syncd.Page, error) (syncd.Page, error)) func(c *syncd.Client) fetch {
	return func(c *syncd.Client) fetch {
		good := a.fetch(c)
		return func(ctx context.Context, req syncd.Request) (syncd.Page, error) {
			page, err := good(ctx, req)
			return f(req, page, err)
		}
	}
}

func eachRecord(f func(*syncd.Record)) func(syncd.Request, syncd.Page, error) (syncd.Page, error) {
	return func(_ syncd.Request, page syncd.Page, err error) (syncd.Page, error) {
		for i := range page.Records {
			if page.Records[i].Err == nil {
				f(&page.Records[i])
			}
		}
		return page, err
	}
}

// loose decodes a page as one value: what is missing is empty, and one bad
// element spoils all.
func loose(a api) func(c *syncd.Client) fetch {
	a.stream = "things"
	return func(c *syncd.Client) fetch {
		return func(ctx context.Context, req syncd.Request) (syncd.Page, error) {
			resp, err := a.ask(ctx, c, req)
			if err != nil {
				return syncd.Page{}, err
			}
			var body struct {
				Things []json.RawMessage `json:"things"`
				Next   string            `json:"next"`
			}
			if err := json.Unmarshal(resp.Body, &body); err != nil {
				return syncd.Page{}, err
			}
			page := syncd.Page{Next: body.Next}
			for _, raw := range body.Things {
				var e element
				if err := json.Unmarshal(raw, &e); err != nil {
					return syncd.Page{}, err
				}
				r := byChange(e)
				r.Data = raw
				page.Records = append(page.Records, r)
			}
			return page, nil
		}
	}
}

var mistakes = map[string]mistake{
	"an exclusive since": {
		of:    "ascending with offsets",
		alter: func(p *protocol) { p.stream.Overlap = 0 },
		fetch: asking(api{}, func(req *syncd.Request) {
			if req.Since > 0 {
				req.Since++
			}
		}),
		in: "ties at the watermark", says: []string{"was never listed to the connector, and is lost", "exclusive"},
	},
	"a since rounded up to the second": {
		of:    "unordered with since",
		alter: func(p *protocol) { p.facts.Grain, p.stream.Overlap = millisecond, 0 },
		fetch: asking(api{}, func(req *syncd.Request) { req.Since = (req.Since + 1e9 - 1) / 1e9 * 1e9 }),
		in:    "ties at the watermark", says: []string{"lost", "rounded up"},
	},
	"the overlap put back on": {
		of: "ascending with offsets",
		fetch: asking(api{}, func(req *syncd.Request) {
			if noon := syncd.At(time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)); req.Since > noon-syncd.Mark(2*time.Minute) && req.Since < noon {
				req.Since += syncd.Mark(time.Minute)
			}
		}),
		in: "late rows", says: []string{"lost", "nothing is to be added to req.Since"},
	},
	"numbered pages over a list that moves": {
		of:    "ascending with page numbers",
		alter: func(p *protocol) { p.stream.Order = syncd.Unordered },
		in:    "changes while it is read", says: []string{"was not listed to the connector since it changed", "Page numbers and offsets"},
	},
	"offsets over a list of which records are deleted": {
		of:    "unordered with since",
		alter: func(p *protocol) { p.facts = facts{}; p.fake = server{offset: true, since: true}.serve },
		in:    "deletions while it is read", says: []string{"a deleted record takes one off"},
	},
	"newest first, promised as ascending": {
		of:    "descending with since and links",
		alter: func(p *protocol) { p.stream.Order = syncd.Ascending },
		fetch: api{link: true}.fetch,
		in:    "whole list", says: []string{`did not come in the order "ascending"`, "Stream.Order"},
	},
	"oldest first, promised as descending": {
		of:    "ascending with tokens",
		alter: func(p *protocol) { p.stream.Order = syncd.Descending },
		in:    "whole list", says: []string{`did not come in the order "descending"`},
	},
	"by creation, promised as ascending, with since": {
		of:    "ascending with tokens",
		alter: func(p *protocol) { p.fake = server{since: true}.serve },
		in:    "whole list", says: []string{`did not come in the order "ascending"`},
	},
	"each page sorted, promised as ascending, with since": {
		of:    "ascending with tokens",
		alter: func(p *protocol) { p.fake = pagesSorted },
		in:    "whole list", says: []string{"was never listed to the connector, and is lost", "what later pages hold from before it is lost"},
	},
	"ids through float64": {
		of: "unordered",
		fetch: answering(api{}, eachRecord(func(r *syncd.Record) {
			f, _ := strconv.ParseFloat(r.ID, 64)
			r.ID = strconv.FormatFloat(f, 'f', -1, 64)
		})),
		in: "whole list", says: []string{"record 9007199254740993 came out as 9007199254740992", "float64"},
	},
	"ids through float64, as they are printed": {
		of: "unordered",
		fetch: answering(api{}, eachRecord(func(r *syncd.Record) {
			f, _ := strconv.ParseFloat(r.ID, 64)
			r.ID = fmt.Sprint(f)
		})),
		in: "whole list", says: []string{"came out as 9.007199254740992e+15", "float64"},
	},
	"a swallowed 410": {
		of: "sync tokens",
		fetch: answering(api{}, func(req syncd.Request, page syncd.Page, err error) (syncd.Page, error) {
			if errors.Is(err, syncd.ErrResync) {
				return syncd.Page{}, nil
			}
			return page, err
		}),
		in: "lost sync tokens", says: []string{"ErrResync", "since it changed"},
	},
	"a 410 that is an error": {
		of: "sync tokens",
		fetch: answering(api{}, func(_ syncd.Request, page syncd.Page, err error) (syncd.Page, error) {
			if errors.Is(err, syncd.ErrResync) {
				return syncd.Page{}, errors.New("410 Gone")
			}
			return page, err
		}),
		in: "lost sync tokens", says: []string{"the run ended failed", "410 Gone"},
	},
	"a request with a number of its own": {
		of: "unordered",
		fetch: func(c *syncd.Client) fetch {
			n := 0
			return asking(api{}, func(req *syncd.Request) {
				if req.Since == 0 {
					n++
					req.Since = syncd.Mark(n)
				}
			})(c)
		},
		in: "the same request again", says: []string{"it first asked", "an hour later"},
	},
	"a page token kept in a variable": {
		of: "unordered",
		fetch: func(c *syncd.Client) fetch {
			good, token := api{}.fetch(c), ""
			n := 0
			return func(ctx context.Context, req syncd.Request) (syncd.Page, error) {
				if req.Page != "" {
					req.Page = token
				}
				page, err := good(ctx, req)
				if token = page.Next; token != "" {
					n++
					page.Next = "page " + strconv.Itoa(n)
				}
				return page, err
			}
		},
		in: "the same request again", says: []string{"keeps something in a variable"},
	},
	"a mark cut off to seconds": {
		of:    "ascending with tokens",
		fetch: answering(api{}, eachRecord(func(r *syncd.Record) { r.Mark = r.Mark / 1e9 * 1e9 })),
		in:    "whole list", says: []string{"has the mark", "cut off to whole seconds"},
	},
	"a mark in the wrong zone": {
		of:    "unordered",
		fetch: answering(api{}, eachRecord(func(r *syncd.Record) { r.Mark -= syncd.Mark(2 * time.Hour) })),
		in:    "whole list", says: []string{"has the mark", "time zone"},
	},
	"the mark of another field": {
		of:    "unordered",
		fetch: api{record: byCreation}.fetch,
		in:    "whole list", says: []string{"which field becomes the mark"},
	},
	"the mark of a field that is not there": {
		of:    "unordered",
		fetch: api{record: byNothing}.fetch,
		in:    "whole list", says: []string{"has the mark 0 (none)", "the field's name in the struct"},
	},
	"an error taken for an empty page": {
		of: "descending",
		fetch: answering(api{}, func(_ syncd.Request, page syncd.Page, err error) (syncd.Page, error) {
			if err != nil {
				return syncd.Page{}, nil
			}
			return page, nil
		}),
		in: "refused", says: []string{"refused with 401, and the run ended as if all had been read"},
	},
	"a page that is not there taken for the end": {
		of: "descending",
		fetch: answering(api{}, func(_ syncd.Request, page syncd.Page, err error) (syncd.Page, error) {
			if refused, ok := errors.AsType[*syncd.HTTPError](err); ok && refused.Status == http.StatusNotFound {
				return syncd.Page{}, nil
			}
			return page, err
		}),
		in: "refused", says: []string{"answered each with 404", "whether Fetch makes of an error an empty page"},
	},
	"an error that says nothing any more": {
		of: "unordered",
		fetch: answering(api{}, func(_ syncd.Request, page syncd.Page, err error) (syncd.Page, error) {
			if err != nil {
				err = fmt.Errorf("things: %v", err)
			}
			return page, err
		}),
		in: "throttled for an hour", says: []string{"it must wait for the hour to pass", "wrapped with %w"},
	},
	"one bad element taken for the page's failure": {
		of: "unordered", fetch: loose(api{}),
		in: "poison at page edges", says: []string{"the run ended failed", "without an id or with a broken time"},
	},
	"a missing list taken for an empty one": {
		of: "unordered", fetch: loose(api{}),
		in: "answers without the list", says: []string{"the body {}", "as if all had been read"},
	},
	"bad elements left out": {
		of: "unordered",
		fetch: answering(api{}, func(_ syncd.Request, page syncd.Page, err error) (syncd.Page, error) {
			var kept []syncd.Record
			for _, r := range page.Records {
				if r.Err == nil {
					kept = append(kept, r)
				}
			}
			page.Records = kept
			return page, err
		}),
		in: "poison at page edges", says: []string{"it vanished"},
	},
	"the last element's id, whatever it is, as the next page": {
		of: "unordered by the last id",
		fetch: answering(api{keyset: true}, func(_ syncd.Request, page syncd.Page, err error) (syncd.Page, error) {
			if n := len(page.Records); n > 0 && page.Next != "" {
				page.Next = page.Records[n-1].ID
			}
			return page, err
		}),
		in: "poison at page edges", says: []string{"lost", "the last record that has an id"},
	},
	"the clock in a request": {
		of: "unordered",
		fetch: asking(api{}, func(req *syncd.Request) {
			if req.Since == 0 {
				req.Since = syncd.At(time.Now().AddDate(-1, 0, 0))
			}
		}),
		in: "the same request again", says: []string{"uses the clock"},
	},
	"the clock in a mark": {
		of:    "unordered without marks",
		alter: func(p *protocol) { p.facts = facts{} },
		fetch: answering(api{record: byNothing}, eachRecord(func(r *syncd.Record) { r.Mark = syncd.At(time.Now()) })),
		in:    "whole list", says: []string{"has the mark"},
	},
	"what is later than the clock left out": {
		of: "unordered",
		fetch: answering(api{}, func(_ syncd.Request, page syncd.Page, err error) (syncd.Page, error) {
			var kept []syncd.Record
			for _, r := range page.Records {
				if r.Mark <= syncd.At(time.Now()) {
					kept = append(kept, r)
				}
			}
			page.Records = kept
			return page, err
		}),
		in: "clocks apart", says: []string{"uses the clock"},
	},
	"an empty page taken for the end": {
		of: "unordered with since",
		fetch: answering(api{}, func(_ syncd.Request, page syncd.Page, err error) (syncd.Page, error) {
			if len(page.Records) == 0 {
				page.Next = ""
			}
			return page, err
		}),
		in: "empty pages", says: []string{"lost", "not by an empty page"},
	},
	"a page shorter than asked for taken for the end": {
		of: "unordered",
		fetch: answering(api{}, func(_ syncd.Request, page syncd.Page, err error) (syncd.Page, error) {
			if len(page.Records) < 100 {
				page.Next = ""
			}
			return page, err
		}),
		in: "whole list", says: []string{"lost", "when it ends"},
	},
	"deletions that are not seen": {
		of:    "sync tokens",
		fetch: answering(api{}, eachRecord(func(r *syncd.Record) { r.Deleted = false })),
		in:    "deletions", says: []string{"still has it live", "Record.Deleted"},
	},
	"bytes that were written anew": {
		of: "unordered",
		fetch: answering(api{}, eachRecord(func(r *syncd.Record) {
			var v map[string]any
			if json.Unmarshal(r.Data, &v) == nil {
				r.Data, _ = json.Marshal(v)
			}
		})),
		in: "whole list", says: []string{"is stored as", "untouched"},
	},
	"retries of its own": {
		of: "unordered",
		fetch: func(c *syncd.Client) fetch {
			good := api{}.fetch(c)
			return func(ctx context.Context, req syncd.Request) (syncd.Page, error) {
				select {
				case <-time.After(time.Second):
				case <-ctx.Done():
				}
				return good(ctx, req)
			}
		},
		in: "the same request again", says: []string{"sleeps"},
	},
	"another record by Replay": {
		of:    "ascending with offsets",
		alter: func(p *protocol) { p.stream.Replay = syncd.Replay(byCreation) },
		in:    "a record set aside is tried again", says: []string{"Stream.Replay"},
	},
	"an expired token taken for nothing new": {
		of: "descending",
		fetch: answering(api{}, func(_ syncd.Request, page syncd.Page, err error) (syncd.Page, error) {
			if refused, ok := errors.AsType[*syncd.HTTPError](err); ok && refused.Status == http.StatusUnauthorized {
				err = syncd.ErrNotModified
			}
			return page, err
		}),
		in: "refused", says: []string{"401"},
	},
	"a walk that never ends": {
		of: "ascending with page numbers",
		fetch: answering(api{}, func(req syncd.Request, page syncd.Page, err error) (syncd.Page, error) {
			n, _ := strconv.Atoi(req.Page)
			page.Next = strconv.Itoa(max(n, 1) + 1)
			return page, err
		}),
		in: "whole list", says: []string{"the run ended failed"},
	},
	"a dead page token that is an error of its own": {
		of: "unordered",
		fetch: answering(api{}, func(req syncd.Request, page syncd.Page, err error) (syncd.Page, error) {
			if err != nil && req.Page != "" {
				err = errors.New("the page is gone")
			}
			return page, err
		}),
		in: "dead page tokens", says: []string{"the run ended failed", "the page is gone", "wrapped with %w"},
	},
	"a dead page token taken for the end": {
		of: "unordered",
		fetch: answering(api{}, func(req syncd.Request, page syncd.Page, err error) (syncd.Page, error) {
			if err != nil && req.Page != "" {
				err = nil
			}
			return page, err
		}),
		in: "dead page tokens", says: []string{"to a run that went on with the page", "was deleted in the table 1 times, by the provider 0 times"},
	},
	"a page token that holds the credentials": {
		of: "unordered", alter: func(p *protocol) { p.fake = echoing(p.fake) },
		in: "whole list", says: []string{"the credentials are in", "[token]"},
	},
	"the end of a body that is cut taken for its end": {
		of:    "unordered",
		alter: func(p *protocol) { p.stream.Snapshot, p.facts.OnePage, p.fake = true, true, lines },
		fetch: byLine,
		in:    "cut bodies", says: []string{"was deleted in the table 1 times, by the provider 0 times"},
	},
	"a part that is another's": {
		of:    "parts",
		fetch: asking(api{}, func(req *syncd.Request) { req.Part = "one" }),
		in:    "whole list", says: []string{"which the provider does not have"},
	},
}

// pagesSorted is a provider that lists by creation, and sorts what is on a page
// by the time of the last change.
func pagesSorted(w *connectortest.World, rw http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	from, _ := strconv.Atoi(q.Get("page"))
	page, next := connectortest.Cut(connectortest.Since(w.Items("things", ""), q.Get("since")), from, w.Limit(q.Get("limit")))
	token := ""
	if next > 0 {
		token = strconv.Itoa(next)
	}
	fmt.Fprintf(rw, `{"things":%s,"next":%q}`, w.Elements(connectortest.Oldest(page), render), token)
}

// echoing is a provider that puts what a request was signed with into the token
// of the next page.
func echoing(fake func(*connectortest.World, http.ResponseWriter, *http.Request)) func(*connectortest.World, http.ResponseWriter, *http.Request) {
	return func(w *connectortest.World, rw http.ResponseWriter, r *http.Request) {
		signed := "." + strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		q := r.URL.Query()
		q.Set("page", strings.TrimSuffix(q.Get("page"), signed))
		r.URL.RawQuery = q.Encode()
		rec := httptest.NewRecorder()
		fake(w, rec, r)
		rw.WriteHeader(rec.Code)
		io.WriteString(rw, regexp.MustCompile(`"next":"([^"]+)"`).ReplaceAllString(rec.Body.String(), `"next":"${1}`+signed+`"`))
	}
}

// lines is a provider that gives a whole list, an element a line.
func lines(w *connectortest.World, rw http.ResponseWriter, r *http.Request) {
	for _, it := range w.Items("things", "") {
		fmt.Fprintf(rw, "%s\n", w.Elements([]item{it}, render))
	}
}

// byLine reads the lines and does not look why they end.
func byLine(c *syncd.Client) fetch {
	return func(ctx context.Context, req syncd.Request) (syncd.Page, error) {
		resp, err := c.Open(ctx, "/things", nil)
		if err != nil {
			return syncd.Page{}, err
		}
		defer resp.Body.Close()
		var page syncd.Page
		for scanner := bufio.NewScanner(resp.Body); scanner.Scan(); {
			records, err := syncd.Decode(scanner.Bytes(), "", byChange)
			if err == nil {
				page.Records = append(page.Records, records...)
			}
		}
		return page, nil
	}
}

func TestMistakesAreFound(t *testing.T) {
	for name, m := range mistakes {
		t.Run(name, func(t *testing.T) {
			p, ok := good[m.of]
			if !ok {
				t.Fatalf("there is no protocol %q", m.of)
			}
			if m.fetch != nil {
				p.fetch = m.fetch
			}
			if m.alter != nil {
				m.alter(&p)
			}
			found := connectortest.Findings(t, p.subject(), m.in)
			texts := strings.Join(found["things/"+m.in], "\n")
			for _, want := range m.says {
				if !strings.Contains(texts, want) {
					t.Errorf("%q found %q, want %q; others found %v", m.in, texts, want, found)
				}
			}
		})
	}
}
