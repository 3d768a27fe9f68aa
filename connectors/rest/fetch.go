package rest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/syncdhq/syncd"
)

// A reader reads a list.
type reader struct {
	list   *list
	client *syncd.Client

	mu      sync.Mutex
	parents map[string]map[string]any // by part: the fields that templates use
}

// fetch implements syncd.Stream.Fetch.
func (r *reader) fetch(ctx context.Context, req syncd.Request) (syncd.Page, error) {
	env, err := r.env(ctx, req)
	if err != nil {
		return syncd.Page{}, err
	}
	reply, err := r.ask(ctx, req, env)
	if errors.Is(err, syncd.ErrNotModified) && req.Page != "" {
		middle := errors.New("in the middle of the list the provider answers that nothing is new: is that a rule for its end? Say by paging.more where it ends")
		if refused, ok := errors.AsType[*syncd.HTTPError](err); ok {
			return syncd.Page{}, fmt.Errorf("%w: %w", refused, middle) // or the page's token is dead: the list is read again
		}
		return syncd.Page{}, middle
	}
	if err != nil {
		return syncd.Page{}, err
	}
	page := syncd.Page{Records: make([]syncd.Record, 0, len(reply.elements))}
	for _, e := range reply.elements {
		record, keep := r.list.extract.record(e)
		if keep {
			page.Records = append(page.Records, record)
		}
		if record.Err == nil {
			reply.last = e.data
		}
	}
	if page.Next, err = r.list.paging.after(reply); err != nil {
		return syncd.Page{}, err
	}
	if page.Next == "" && r.list.sync.next != nil {
		page.Sync, err = reply.text(r.list.sync.next)
	}
	return page, err
}

// ask makes the request for a page and reads its answer.
func (r *reader) ask(ctx context.Context, req syncd.Request, env map[string]any) (*reply, error) {
	out, err := r.request(ctx, req, env)
	if err != nil {
		return nil, err
	}
	resp, err := r.client.Do(out)
	if refused, ok := errors.AsType[*syncd.HTTPError](err); ok {
		return nil, r.list.refusal(refused, env)
	}
	if err != nil {
		return nil, err
	}
	answer, err := read(r.list.format, resp.Body, r.list.records, r.list.optional)
	reply := &reply{answer: answer, request: req, response: resp, env: env}
	if err != nil {
		// What is no list may be an error in disguise, which says more.
		reply.json = resp.Body
		if said := judge(r.list.rules, resp.Status, reply); said != nil && r.list.format == "json" {
			return nil, said
		}
		return nil, err
	}
	if err := judge(r.list.rules, resp.Status, reply); err != nil {
		return nil, err
	}
	return reply, nil
}

// refusal returns what an answer other than 2xx means.
func (l *list) refusal(refused *syncd.HTTPError, env map[string]any) error {
	resp := &syncd.Response{Status: refused.Status, Header: refused.Header, Body: refused.Body}
	r := &reply{response: resp, env: maps.Clone(env)}
	if _, err := tree(refused.Body); err == nil {
		r.json = refused.Body
	}
	u, err := match(l.rules, refused.Status, r)
	if u == nil || err != nil {
		return refused
	}
	return fmt.Errorf("%w: %w", refused, u.meaning(r))
}

// env returns the variables of a request.
func (r *reader) env(ctx context.Context, req syncd.Request) (map[string]any, error) {
	l := r.list
	page, err := l.paging.value(req.Page)
	if err != nil {
		return nil, err
	}
	env := map[string]any{"params": l.api.params, "page": page, "since": nil, "sync": nil, "size": l.paging.size}
	if req.Since != 0 {
		env["since"] = l.since.write(req.Since)
	}
	if req.Sync != "" {
		env["sync"] = req.Sync
	}
	if req.Part != "" {
		env["part"] = req.Part
		if l.parent != nil {
			env["part"] = unescapePart(req.Part)
			if env["parent"], err = r.parentOf(ctx, req.Part); err != nil {
				return nil, err
			}
		}
	}
	return env, nil
}

// write spells a bound, one step earlier where the provider's is exclusive.
func (s since) write(m syncd.Mark) any {
	if !s.exclusive {
		return s.clock.write(m)
	}
	if s.clock.sequence() {
		return s.clock.write(m - 1)
	}
	step := syncd.Mark(s.precision)
	return s.clock.write(m - m%step - step)
}

// request makes the request for a page.
func (r *reader) request(ctx context.Context, req syncd.Request, env map[string]any) (*http.Request, error) {
	l := r.list
	var body []byte
	if l.body != nil {
		text, err := l.body.render(env, nil)
		if err != nil {
			return nil, fmt.Errorf("body: %w", err)
		}
		body = []byte(text)
	}
	ref, query := req.Page, url.Values(nil)
	if ref == "" || !l.paging.following() {
		var err error
		if ref, err = l.path.render(env, inPath); err != nil {
			return nil, fmt.Errorf("path: %w", err)
		}
		if query, err = l.parameters(env); err != nil {
			return nil, err
		}
	}
	out, err := r.client.NewRequest(ctx, ref, query, body)
	if err != nil {
		return nil, err
	}
	out.Header.Set("Accept", accepts[l.format])
	if body != nil {
		out.Header.Set("Content-Type", l.contentType)
	}
	for _, s := range append(l.api.headers[:len(l.api.headers):len(l.api.headers)], l.headers...) {
		value, err := s.value.render(env, nil)
		if err != nil {
			return nil, fmt.Errorf("header %s: %w", s.name, err)
		}
		if value != "" {
			out.Header.Set(s.name, value)
		}
	}
	return out, nil
}

// parameters returns the query of a request.
func (l *list) parameters(env map[string]any) (url.Values, error) {
	query := url.Values{}
	for _, s := range l.query {
		value, err := s.value.render(env, nil)
		if err != nil {
			return nil, fmt.Errorf("query %s: %w", s.name, err)
		}
		if value != "" {
			query.Set(s.name, value)
		}
	}
	for _, p := range []struct {
		name  string
		value any
	}{
		{l.since.param, env["since"]}, {l.paging.param, env["page"]}, {l.sync.param, env["sync"]}, {l.paging.sizeParam, env["size"]},
	} {
		if p.name == "" || p.value == nil {
			continue
		}
		value, err := text(p.value)
		if err != nil {
			return nil, err
		}
		query.Set(p.name, value)
	}
	return query, nil
}

// replay implements syncd.Stream.Replay.
func (l *list) replay(_ context.Context, raw []byte) (syncd.Record, error) {
	raw = bytes.TrimSpace(raw)
	if l.format == "csv" && !bytes.HasPrefix(raw, []byte("{")) {
		return syncd.Record{}, errors.New("a row alone does not tell its columns: give it as a JSON object of texts, such as {\"id\": \"1\"}")
	}
	record, keep := l.extract.record(element{data: raw})
	if !keep {
		return record, fmt.Errorf("the condition keep is not met: it is no record of the stream %s", l.name)
	}
	return record, nil
}

// throttled returns the rules that tell of a rate limit as one function, nil if
// there are none.
func (a *api) throttled() func(int, http.Header, []byte) bool {
	var rules []rule
	for _, l := range a.lists {
		for _, u := range l.rules {
			if u.as == "throttled" {
				rules = append(rules, u)
			}
		}
	}
	if len(rules) == 0 {
		return nil
	}
	return func(status int, h http.Header, body []byte) bool {
		r := &reply{response: &syncd.Response{Status: status, Header: h, Body: body}, env: map[string]any{}}
		r.json = bytes.TrimPrefix(body, utf8BOM)
		for _, u := range rules {
			if fits, err := u.fits(status, r); err == nil && fits {
				return true
			}
		}
		return false
	}
}

// epoch is where a number in a reset header is taken for a Unix time: as
// seconds from now it would be thirty years.
const epoch = 1_000_000_000

// quota returns how the headers tell what is left, nil if none are named.
func (n RateHeaders) quota() func(http.Header, time.Time) syncd.Quota {
	if n.Remaining == "" {
		return nil
	}
	return func(h http.Header, now time.Time) syncd.Quota {
		left, err := strconv.ParseInt(h.Get(n.Remaining), 10, 64)
		if err != nil {
			return syncd.Quota{}
		}
		q := syncd.Quota{Known: true, Left: left}
		switch reset, err := strconv.ParseInt(h.Get(n.Reset), 10, 64); {
		case err != nil || reset < 0:
		case reset > epoch*1000:
			q.Reset = time.UnixMilli(reset)
		case reset > epoch:
			q.Reset = time.Unix(reset, 0)
		default:
			q.Reset = now.Add(time.Duration(reset) * time.Second)
		}
		return q
	}
}
