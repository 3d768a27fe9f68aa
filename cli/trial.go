package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/config"
	"github.com/syncdhq/syncd/internal/ingest"
)

// A trial reads one page of each stream of a source and keeps nothing.
type trial struct {
	streams []syncd.Stream
	wire    *witness
	now     func() time.Time
	redact  func(string) string // takes out the credentials, which a provider may send back as data
}

// A trialResult is what one page of a stream came to.
type trialResult struct {
	Stream  string     `json:"stream"`
	Part    string     `json:"part,omitempty"`
	Parts   int        `json:"parts,omitempty"`
	Asked   []exchange `json:"asked"`
	Records int        `json:"records"`
	Deleted int        `json:"deleted"`
	IDs     []string   `json:"ids"`     // the external ids: the first ones
	Marks   string     `json:"marks"`   // in words
	Next    string     `json:"next"`    // the token of the next page
	Sync    string     `json:"sync"`    // the provider's token for the next walk
	Goes    string     `json:"goes_on"` // in words
	Rejects []string   `json:"rejects"`
	Doubts  []string   `json:"doubts"` // what may not be as its author thinks
	Samples []string   `json:"samples"`
	Error   string     `json:"error,omitempty"`
}

// An exchange is one request with what came of it.
type exchange struct {
	Method string `json:"method"`
	URL    string `json:"url"` // as the connector asked: without credentials
	Came   string `json:"came"`
}

// A witness notes the requests that pass it. It is above the transport, where
// they are not signed.
type witness struct {
	now   func() time.Time
	mu    sync.Mutex
	asked []exchange
}

// around returns a round tripper that asks next and has w note it.
func (w *witness) around(next http.RoundTripper) http.RoundTripper { return witnessed{w, next} }

// A witnessed is the round tripper of around.
type witnessed struct {
	*witness
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (w witnessed) RoundTrip(req *http.Request) (*http.Response, error) {
	began := w.now()
	resp, err := w.next.RoundTrip(req)
	e := exchange{Method: req.Method, URL: req.URL.String()}
	took := w.now().Sub(began).Round(time.Millisecond)
	if err != nil {
		e.Came = fmt.Sprintf("no answer, after %s", took)
	} else {
		e.Came = fmt.Sprintf("%d %s, %s, %s, after %s", resp.StatusCode, http.StatusText(resp.StatusCode),
			or(resp.Header.Get("Content-Type"), "no content type"), length(resp), took)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, e)
	return resp, err
}

func length(resp *http.Response) string {
	if b, ok := resp.Body.(interface{ Bytes() []byte }); ok {
		return roughly(len(b.Bytes()))
	}
	if resp.ContentLength >= 0 {
		return roughly(int(resp.ContentLength))
	}
	return "of unknown length"
}

// take returns what was asked since the last call.
func (w *witness) take() []exchange {
	w.mu.Lock()
	defer w.mu.Unlock()
	asked := w.asked
	w.asked = nil
	return asked
}

func newTrial(ctx context.Context, f *fleet, cfg *config.Config, src *config.Source) (*trial, error) {
	base := f.baseURL(src.Of)
	signed, err := f.signing(ctx, src, "")
	if err != nil {
		return nil, err
	}
	stack, err := f.stack(cfg, src, base, signed)
	if err != nil {
		return nil, err
	}
	w := &witness{now: f.now}
	client, err := syncd.NewClient(or(base, syncd.NoBase), w.around(stack.Whole()), w.around(stack.Stream()))
	if err != nil {
		return nil, err
	}
	streams, err := src.Options.Streams(client)
	if err != nil {
		return nil, usageError{fmt.Errorf("options: %w", err)}
	}
	return &trial{streams: streams, wire: w, now: f.now, redact: stack.Redact}, nil
}

func (t *trial) run(ctx context.Context, req tryRequest) ([]trialResult, error) {
	var results []trialResult
	var names []string
	for _, s := range t.streams {
		names = append(names, s.Name)
		if req.stream != "" && s.Name != req.stream {
			continue
		}
		since, err := parseSince(req.since, s.Sequence)
		if err != nil {
			return nil, usageError{err}
		}
		r := t.one(ctx, s, req, since)
		r.redact(t.redact)
		results = append(results, r)
	}
	if len(results) == 0 {
		return nil, usageError{fmt.Errorf("there is no stream %q: there is %s", req.stream, strings.Join(names, ", "))}
	}
	return results, nil
}

// redact takes the credentials out of all that is shown.
func (r *trialResult) redact(redact func(string) string) {
	for _, text := range []*string{&r.Part, &r.Marks, &r.Next, &r.Sync, &r.Goes, &r.Error} {
		*text = redact(*text)
	}
	for _, list := range [][]string{r.IDs, r.Rejects, r.Doubts, r.Samples} {
		for i := range list {
			list[i] = redact(list[i])
		}
	}
	for i := range r.Asked {
		r.Asked[i].URL, r.Asked[i].Came = redact(r.Asked[i].URL), redact(r.Asked[i].Came)
	}
}

// one tries a stream.
func (t *trial) one(ctx context.Context, s syncd.Stream, req tryRequest, since syncd.Mark) trialResult {
	r := trialResult{Stream: s.Name, Asked: []exchange{}, IDs: []string{}, Rejects: []string{}, Doubts: []string{}, Samples: []string{}}
	page, err := t.fetch(ctx, s, &r, req.part, since)
	r.Asked = append(r.Asked, t.wire.take()...)
	switch {
	case errors.Is(err, syncd.ErrNotModified):
		r.Marks, r.Goes = "none", "nothing is new"
		return r
	case err != nil:
		r.Error = err.Error()
		if refused, ok := errors.AsType[*syncd.HTTPError](err); ok && len(refused.Body) > 0 {
			r.Error += "\n" + string(refused.Body)
		}
		return r
	}
	r.tell(s, page, since, req.sample, t.now())
	return r
}

func (t *trial) fetch(ctx context.Context, s syncd.Stream, r *trialResult, part string, since syncd.Mark) (syncd.Page, error) {
	if s.Parts != nil {
		parts, err := s.Parts(ctx)
		if err != nil {
			return syncd.Page{}, err
		}
		if len(parts) == 0 {
			return syncd.Page{}, errors.New("the stream is read in parts, and there is none")
		}
		r.Part, r.Parts = or(part, parts[0]), len(parts)
		if !slices.Contains(parts, r.Part) {
			return syncd.Page{}, fmt.Errorf("there is no part %q, only %s", part, clip(strings.Join(parts, ", "), 200))
		}
	}
	return s.Fetch(ctx, syncd.Request{Part: r.Part, Since: since})
}

// told is how many ids and rejects of a page are told.
const told = 5

// tell says what a page holds.
func (r *trialResult) tell(s syncd.Stream, page syncd.Page, since syncd.Mark, samples int, now time.Time) {
	batch := ingest.Prepare(s, r.Part, page.Records, nil, now)
	r.Records, r.Next, r.Sync = len(page.Records), page.Next, page.Sync
	for _, j := range batch.Rejects {
		if len(r.Rejects) == told {
			r.Rejects = append(r.Rejects, fmt.Sprintf("and %d more", len(batch.Rejects)-told))
			break
		}
		r.Rejects = append(r.Rejects, fmt.Sprintf("%s: %s: %s", j.Reason, j.Detail, clip(string(j.Raw), 300)))
	}
	for _, row := range batch.Rows {
		if row.Deleted {
			r.Deleted++
		}
	}
	for _, rec := range page.Records {
		if rec.Err == nil && len(r.IDs) < told {
			r.IDs = append(r.IDs, ingest.Prefix(s.Name, r.Part)+rec.ID)
		}
		if rec.Err == nil && len(r.Samples) < samples {
			r.Samples = append(r.Samples, string(rec.Data))
		}
	}
	if batch.Duplicates > 0 {
		r.Doubts = append(r.Doubts, count(batch.Duplicates, "record")+" with an id that another of the page has: is it the provider's own id?")
	}
	r.tellMarks(s, page, since)
	switch {
	case page.Next != "":
		r.Goes = "there is a next page: " + clip(page.Next, 200)
	case page.Sync != "":
		r.Goes = "this is the last page, and the next walk asks with the token " + clip(page.Sync, 200)
	default:
		r.Goes = "this is the last page"
	}
}

// tellMarks says what the marks of a page are, and whether a promise about
// them does not hold.
func (r *trialResult) tellMarks(s syncd.Stream, page syncd.Page, since syncd.Mark) {
	var least, most, last syncd.Mark
	without, before, up, down := 0, 0, true, true
	for _, rec := range page.Records {
		switch {
		case rec.Err != nil:
			continue
		case rec.Mark <= 0:
			without++
			continue
		}
		if last != 0 {
			up, down = up && rec.Mark >= last, down && rec.Mark <= last
		}
		if rec.Mark < since-syncd.Mark(s.Precision) {
			before++
		}
		if least == 0 || rec.Mark < least {
			least = rec.Mark
		}
		most, last = max(most, rec.Mark), rec.Mark
	}
	if most == 0 {
		r.Marks = "none"
		if r.Records > 0 && s.Order != syncd.Unordered {
			r.Doubts = append(r.Doubts, "the stream promises an order, and no record says when it changed")
		}
		return
	}
	order := "in no order"
	switch {
	case up && down:
		order = "all alike"
	case up:
		order = "ascending"
	case down:
		order = "descending"
	}
	r.Marks = fmt.Sprintf("%s to %s, %s", least.Format(s.Sequence), most.Format(s.Sequence), order)
	if without > 0 {
		r.Marks += fmt.Sprintf(", %s without one", count(without, "record"))
	}
	if s.Order == syncd.Ascending && !up || s.Order == syncd.Descending && !down {
		r.Doubts = append(r.Doubts, fmt.Sprintf("the stream promises %s order, and the page came %s: a run would end here", s.Order, order))
	}
	if since != 0 && before > 0 && s.Order == syncd.Ascending {
		r.Doubts = append(r.Doubts, fmt.Sprintf("%s changed before --since: does the provider heed it?", count(before, "record")))
	}
}
