package web

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"github.com/syncdhq/syncd/internal/connect"
	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/vault"
)

// An API answers applications, and the browsers of users who connect. It is
// described by openapi.json, which also says what of a request is valid.
type API struct {
	Accounts Accounts
	Sessions func(ctx context.Context) (*connect.Sessions, error) // the keys may not be there yet
	Memos    store.Memos
	Settings func() Settings // as the configuration has them now
	Log      *slog.Logger
}

// Settings are those of the API.
type Settings struct {
	Tokens []vault.Secret // of applications
	URL    string         // as users' browsers see this server; "" if they do not
}

// A call is a request that may be answered.
type call struct {
	*http.Request
	caller string // which application, by its token's hash
	body   []byte // valid by the description
}

// key is the source that the path names.
func (c *call) key() store.Key {
	return store.Key{User: c.PathValue("user"), Provider: c.PathValue("provider")}
}

// into decodes the body.
func (c *call) into(v any) error { return json.Unmarshal(c.body, v) }

// An answer is what a call came to.
type answer struct {
	status int
	value  any                    // nil for no body
	whole  func(any) (any, error) // makes what is sent of value, which alone is kept for a repetition; nil sends value
	user   string                 // whom it is about
}

// A route is a call that is described in openapi.json.
type route struct {
	pattern string // of http.ServeMux
	do      func(*API, context.Context, *call) (answer, error)
}

var routes = []route{
	{"GET /v1/sources", (*API).listSources},
	{"POST /v1/sources", (*API).addSource},
	{"GET /v1/sources/{user}/{provider}", (*API).showSource},
	{"DELETE /v1/sources/{user}/{provider}", (*API).removeSource},
	{"PUT /v1/sources/{user}/{provider}/credentials", (*API).giveKeys},
	{"POST /v1/sources/{user}/{provider}/sync", (*API).syncSource},
	{"POST /v1/sources/{user}/{provider}/pause", (*API).pauseSource},
	{"POST /v1/sources/{user}/{provider}/resume", (*API).resumeSource},
	{"POST /v1/sources/{user}/{provider}/confirm", (*API).confirmSource},
	{"POST /v1/sources/{user}/{provider}/disconnect", (*API).disconnectSource},
	{"POST /v1/connect-sessions", (*API).newSession},
	{"GET /v1/connect-sessions/{id}", (*API).showSession},
	{"GET /v1/events", (*API).listEvents},
	{"DELETE /v1/users/{user}", (*API).eraseUser},
}

// streamed are the calls that answer with more than one JSON value. They are
// described too.
var streamed = []string{"GET /v1/users/{user}/export"}

// register adds the routes. What is none of them is a Problem as well.
func (a *API) register(outer *http.ServeMux) {
	mux := http.NewServeMux()
	outer.HandleFunc("/v1/", func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		refused := head{header: http.Header{}}
		mux.ServeHTTP(&refused, r) // which knows what methods there are
		problem := Fault(http.StatusNotFound, "no_such_call", "there is no %s: see /v1/openapi.json", r.URL.Path)
		if allow := refused.header.Get("Allow"); refused.status == http.StatusMethodNotAllowed {
			w.Header().Set("Allow", allow)
			problem = Fault(refused.status, "no_such_call", "there is no %s %s, but %s: see /v1/openapi.json", r.Method, r.URL.Path, allow)
		}
		problem.write(w)
	})
	for _, r := range routes {
		mux.HandleFunc(r.pattern, a.handler(r))
	}
	mux.HandleFunc("GET /v1/users/{user}/export", a.exportUser)
	mux.HandleFunc("GET /v1/openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Write(description)
	})
}

// A head is an answer without its body.
type head struct {
	header http.Header
	status int
}

func (h *head) Header() http.Header         { return h.header }
func (h *head) WriteHeader(status int)      { h.status = status }
func (h *head) Write(p []byte) (int, error) { return len(p), nil }

// handler answers one route: who asks, what, and has it been asked before?
func (a *API) handler(r route) http.HandlerFunc {
	method, path, _ := strings.Cut(r.pattern, " ")
	valid := described(method, path)
	return func(w http.ResponseWriter, req *http.Request) {
		c, problem := a.admit(req, valid)
		if problem != nil {
			if problem.Status == http.StatusUnauthorized {
				w.Header().Set("WWW-Authenticate", `Bearer realm="syncd"`)
			}
			problem.write(w)
			return
		}
		done, replayed, err := a.once(req.Context(), c, func(ctx context.Context) (answer, error) { return r.do(a, ctx, c) })
		value := done.value
		if err == nil && done.whole != nil {
			value, err = done.whole(value)
		}
		if err != nil {
			a.fail(w, req, err)
			return
		}
		if replayed {
			w.Header().Set("Idempotent-Replayed", "true")
		}
		if value == nil {
			w.WriteHeader(done.status)
			return
		}
		writeJSON(w, "application/json", done.status, value)
	}
}

func (a *API) fail(w http.ResponseWriter, req *http.Request, err error) {
	p := internal(err)
	if p.Status >= 500 {
		a.Log.Error("a call of the API failed", "method", req.Method, "path", req.Pattern, "error", err)
	}
	p.write(w)
}

// admit checks who asks and what is asked.
func (a *API) admit(req *http.Request, valid validator) (*call, *Problem) {
	c := &call{Request: req}
	if c.caller = a.caller(req); c.caller == "" {
		return nil, Fault(http.StatusUnauthorized, "unauthorized", "show a token of api.tokens in the configuration: Authorization: Bearer TOKEN")
	}
	var problem *Problem
	c.body, problem = valid.check(req)
	return c, problem
}

// caller returns which application asks: "" for none.
func (a *API) caller(req *http.Request) string {
	scheme, token, _ := strings.Cut(req.Header.Get("Authorization"), " ")
	found := ""
	for _, known := range a.Settings().Tokens {
		want, got := sha256.Sum256([]byte(known.Reveal())), sha256.Sum256([]byte(strings.TrimSpace(token)))
		if subtle.ConstantTimeCompare(want[:], got[:]) == 1 && strings.EqualFold(scheme, "Bearer") {
			found = encode(want[:12])
		}
	}
	return found
}

// atOnce is how many rows a listing has at most, and if nothing is said.
const atOnce = 1000

func limitOf(c *call) int {
	n, err := strconv.Atoi(c.URL.Query().Get("limit")) // valid by the description
	if err != nil {
		return 100
	}
	return min(n, atOnce)
}

// A page is a part of a listing. Next is what to ask for after it.
type page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty"`
}

func (a *API) listSources(ctx context.Context, c *call) (answer, error) {
	q := c.URL.Query()
	f := store.SourceFilter{User: q.Get("user"), Provider: q.Get("provider"), Limit: limitOf(c)}
	if after := q.Get("after"); after != "" {
		var ok bool
		if f.After.User, f.After.Provider, ok = pair(after); !ok {
			return answer{}, Fault(http.StatusBadRequest, "invalid", "after is what next of the page before said")
		}
	}
	rows, err := a.Accounts.Sources(ctx, f)
	if err != nil {
		return answer{}, err
	}
	p := page[Source]{Items: append([]Source{}, rows...)}
	if len(rows) == f.Limit {
		last := rows[len(rows)-1]
		p.Next = joined(last.User, last.Provider)
	}
	return answer{status: http.StatusOK, value: p}, nil
}

// one returns a source.
func (a *API) one(ctx context.Context, key store.Key) (Source, error) {
	rows, err := a.Accounts.Sources(ctx, store.SourceFilter{User: key.User, Provider: key.Provider, Limit: 1})
	if err == nil && len(rows) == 0 {
		err = Fault(http.StatusNotFound, "no_such_source", "there is no source %s", key)
	}
	if err != nil {
		return Source{}, err
	}
	return rows[0], nil
}

// afterwards answers with a source as it stands after a call.
func (a *API) afterwards(ctx context.Context, key store.Key, status int, err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	src, err := a.one(ctx, key)
	return answer{status: status, value: src, user: key.User}, err
}

func (a *API) showSource(ctx context.Context, c *call) (answer, error) {
	return a.afterwards(ctx, c.key(), http.StatusOK, nil)
}

// A declaration is a source as an application sends it.
type declaration struct {
	User        string            `json:"user"`
	Provider    string            `json:"provider"`
	Credentials map[string]string `json:"credentials"`
	ReturnTo    string            `json:"return_to"`
}

// declared returns who a source is of, and the rest as config.Declare takes it.
func declared(body []byte) (d declaration, rest string, err error) {
	var fields map[string]json.RawMessage
	if err = json.Unmarshal(body, &d); err == nil {
		err = json.Unmarshal(body, &fields)
	}
	if err != nil {
		return d, "", err
	}
	for _, own := range []string{"user", "provider", "credentials", "return_to"} {
		delete(fields, own)
	}
	text, err := json.Marshal(fields)
	return d, string(text), err
}

func secrets(given map[string]string) map[string]vault.Secret {
	if given == nil {
		return nil
	}
	out := make(map[string]vault.Secret, len(given))
	for name, value := range given {
		out[name] = vault.NewSecret(value)
	}
	return out
}

func (a *API) addSource(ctx context.Context, c *call) (answer, error) {
	d, rest, err := declared(c.body)
	if err != nil {
		return answer{}, err
	}
	key := store.Key{User: d.User, Provider: d.Provider}
	added, err := a.Accounts.Declare(ctx, key, rest, secrets(d.Credentials))
	status := http.StatusOK
	if added {
		status = http.StatusCreated
	}
	return a.afterwards(ctx, key, status, err)
}

func (a *API) giveKeys(ctx context.Context, c *call) (answer, error) {
	var given map[string]string
	err := c.into(&given)
	if err == nil {
		err = a.Accounts.Give(ctx, c.key(), secrets(given))
	}
	return a.afterwards(ctx, c.key(), http.StatusOK, err)
}

func (a *API) syncSource(ctx context.Context, c *call) (answer, error) {
	return a.afterwards(ctx, c.key(), http.StatusAccepted, a.Accounts.Sync(ctx, c.key()))
}

// reason returns why a source is paused or resumed.
func reason(c *call) string {
	var body struct{ Reason string }
	if len(c.body) > 0 && c.into(&body) == nil && body.Reason != "" {
		return body.Reason
	}
	return store.PausedOperator
}

func (a *API) pauseSource(ctx context.Context, c *call) (answer, error) {
	return a.afterwards(ctx, c.key(), http.StatusOK, a.Accounts.Pause(ctx, c.key(), reason(c)))
}

func (a *API) resumeSource(ctx context.Context, c *call) (answer, error) {
	return a.afterwards(ctx, c.key(), http.StatusOK, a.Accounts.Resume(ctx, c.key(), reason(c)))
}

func (a *API) confirmSource(ctx context.Context, c *call) (answer, error) {
	var body struct{ Records string }
	err := c.into(&body)
	if err == nil {
		err = a.Accounts.Confirm(ctx, c.key(), body.Records == "purge")
	}
	return a.afterwards(ctx, c.key(), http.StatusOK, err)
}

// said is what a call did, in words.
type said struct {
	Said string `json:"said"`
}

func (a *API) disconnectSource(ctx context.Context, c *call) (answer, error) {
	var body struct{ Records string }
	var purge *bool
	if len(c.body) > 0 && c.into(&body) == nil && body.Records != "" {
		purge = new(bool)
		*purge = body.Records == "purge"
	}
	what, err := a.Accounts.Disconnect(ctx, c.key(), purge)
	return answer{status: http.StatusOK, value: said{what}, user: c.key().User}, err
}

func (a *API) removeSource(ctx context.Context, c *call) (answer, error) {
	what, err := a.Accounts.Remove(ctx, c.key(), c.URL.Query().Get("records") == "purge")
	return answer{status: http.StatusOK, value: said{what}, user: c.key().User}, err
}

// An event is what happened to an account, for programs.
type event struct {
	Seq      int64  `json:"seq"`
	User     string `json:"user"`
	Provider string `json:"provider"`
	Kind     string `json:"kind"`
	Detail   string `json:"detail,omitempty"`
	At       string `json:"at"`
}

func (a *API) listEvents(ctx context.Context, c *call) (answer, error) {
	q := c.URL.Query()
	f := store.EventFilter{User: q.Get("user"), Provider: q.Get("provider"), Limit: limitOf(c)}
	if before := q.Get("before"); before != "" {
		var err error
		if f.Before, err = strconv.ParseInt(before, 10, 64); err != nil || f.Before <= 0 {
			return answer{}, Fault(http.StatusBadRequest, "invalid", "before is the seq of an event")
		}
	}
	rows, err := a.Accounts.Events(ctx, f)
	if err != nil {
		return answer{}, err
	}
	p := page[event]{Items: []event{}}
	for _, e := range rows {
		p.Items = append(p.Items, event{e.Seq, e.User, e.Provider, e.Kind, e.Detail, e.At.UTC().Format("2006-01-02T15:04:05.999999Z07:00")})
	}
	if len(rows) == f.Limit {
		p.Next = strconv.FormatInt(rows[len(rows)-1].Seq, 10)
	}
	return answer{status: http.StatusOK, value: p}, nil
}

func (a *API) eraseUser(ctx context.Context, c *call) (answer, error) {
	receipt, err := a.Accounts.Erase(ctx, c.PathValue("user"), c.URL.Query().Get("rewrite") == "true")
	return answer{status: http.StatusOK, value: receipt}, err
}

// exportUser streams: it is not kept for a repetition.
func (a *API) exportUser(w http.ResponseWriter, req *http.Request) {
	if a.caller(req) == "" {
		w.Header().Set("WWW-Authenticate", `Bearer realm="syncd"`)
		Fault(http.StatusUnauthorized, "unauthorized", "show a token of api.tokens in the configuration: Authorization: Bearer TOKEN").write(w)
		return
	}
	if !isText(req.PathValue("user")) {
		invalid(http.StatusBadRequest, []string{"the user in the path is no text"}).write(w)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("Cache-Control", "no-store")
	out := &begun{ResponseWriter: w}
	if err := a.Accounts.Export(req.Context(), req.PathValue("user"), out); err != nil {
		if !out.yes {
			w.Header().Del("Content-Type")
			a.fail(w, req, err)
			return
		}
		a.Log.Error("an export broke off", "error", err)
		panic(http.ErrAbortHandler) // so that nobody takes it for whole
	}
}

// begun notes whether a body was begun.
type begun struct {
	http.ResponseWriter
	yes bool
}

func (b *begun) Write(p []byte) (int, error) {
	b.yes = true
	return b.ResponseWriter.Write(p)
}
