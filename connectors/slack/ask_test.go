package slack

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/connectortest"
	"github.com/syncdhq/syncd/internal/transport"
	"github.com/syncdhq/syncd/internal/vault"
)

// Refusals in answers with status 200 are errors with the status that says the
// same, and name what to do.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		code, more string
		status     int
		want       string
	}{
		{code: "invalid_auth", status: 401, want: "under credentials"},
		{code: "not_authed", status: 401, want: "under credentials"},
		{code: "token_expired", status: 401, want: "rotation"},
		{code: "token_revoked", status: 401, want: "install the app again"},
		{code: "account_inactive", status: 401, want: "install the app again"},
		{code: "missing_scope", more: `,"needed":"groups:history","provided":"channels:history"`, status: 403, want: "add the scope groups:history"},
		{code: "missing_scope", status: 403, want: "add the scope"},
		{code: "not_in_channel", status: 403, want: "/invite"},
		{code: "channel_not_found", status: 404, want: "is gone"},
		{code: "missing_argument", status: 403, want: "option team"},
		{code: "internal_error", status: 503, want: "passes"},
		{code: "ratelimited", status: 429, want: "ratelimited"},
		{code: "unheard_of", status: 403, want: "unheard_of"},
	} {
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, `{"ok":false,"error":%q%s}`, c.code, c.more)
		})
		_, err := stream(t, h, "messages", nil).Fetch(t.Context(), syncd.Request{Part: "C1", Since: since(5)})
		refused, ok := errors.AsType[*syncd.HTTPError](err)
		if !ok || refused.Status != c.status || refused.URL != "https://slack.com/api/conversations.history" {
			t.Errorf("%s: got %v, want the status %d", c.code, err, c.status)
			continue
		}
		for _, want := range []string{"channel C1", c.code, c.want} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want it to say %q", c.code, err, want)
			}
		}
	}
}

func TestBadAnswersAreErrors(t *testing.T) {
	for name, c := range map[string]struct{ body, want string }{
		"empty body":           {"", "not as expected"},
		"cut":                  {`{"ok":true,"messages":[{"ts":"1.1"}`, "not as expected"},
		"a list":               {`[]`, "not as expected"},
		"without ok":           {`{"messages":[],"members":[],"channels":[]}`, "no field ok"},
		"ok that is null":      {`{"ok":null,"messages":[]}`, "no field ok"},
		"without the list":     {`{"ok":true}`, "not as expected"},
		"a list that is text":  {`{"ok":true,"messages":"","members":"","channels":""}`, "not as expected"},
		"more, and no cursor":  {`{"ok":true,"messages":[],"members":[],"channels":[],"has_more":true,"response_metadata":{"next_cursor":""}}`, "gives no cursor"},
		"a cursor that is not": {`{"ok":true,"messages":[],"members":[],"channels":[],"response_metadata":{"next_cursor":{}}}`, "not as expected"},
	} {
		for name_, method := range map[string]string{"messages": "conversations.history", "users": "users.list", "channels": "conversations.list"} {
			h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write([]byte(c.body)) })
			_, err := stream(t, h, name_, nil).Fetch(t.Context(), syncd.Request{Part: "C1"})
			if err == nil || !strings.Contains(err.Error(), c.want) || name_ != "messages" && !strings.Contains(err.Error(), method) {
				t.Errorf("%s, %s: got %v, want an error that says %q", name, method, err, c.want)
			}
		}
	}
}

func TestThrottled(t *testing.T) {
	long := `{"ok":false,"error":"ratelimited","x":"` + strings.Repeat("x", 5000) + `"}`
	for _, c := range []struct {
		status int
		body   string
		want   bool
	}{
		{200, `{"ok":false,"error":"ratelimited"}`, true},
		{200, `{"error":"rate_limited", "ok":false}`, true},
		{200, `{"ok":true,"error":"ratelimited"}`, false},
		{200, `{"ok":true,"messages":[{"text":"{\"ok\":false,\"error\":\"ratelimited\"}"}]}`, false},
		{200, `{"ok":false,"error":"is_limited_access"}`, false},
		{200, `{"error":"ratelimited"}`, false},
		{200, `ratelimited`, false},
		{200, long, false},
		{500, `{"ok":false,"error":"ratelimited"}`, false},
	} {
		if got := Connector().Rate.Throttled(c.status, nil, []byte(c.body)); got != c.want {
			t.Errorf("%d %.60s: got %v", c.status, c.body, got)
		}
	}
}

// Over the daemon's transport, a rate limit that is told with status 200 is
// waited out, and the request is made again.
func TestARateLimitIsWaitedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &workspace{posts: channelOf(2)}
		f.refuse = func(_ string, r *http.Request, n int) any {
			if got := r.Header.Get("Authorization"); got != "Bearer xoxb-1" {
				t.Errorf("got the header %q", got)
			}
			if n == 1 {
				return "ratelimited"
			}
			return nil
		}
		stack, err := transport.New(transport.Config{
			Base: connectortest.Direct(f), Auth: Connector().Auth, Throttled: Connector().Rate.Throttled, Attempts: 3, Budget: 20,
			Credentials: map[string]vault.Secret{"token": vault.NewSecret("xoxb-1")},
		})
		if err != nil {
			t.Fatal(err)
		}
		client, err := stack.Client(Connector().BaseURL)
		if err != nil {
			t.Fatal(err)
		}
		list, err := Connector().Options().Streams(client)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		page, err := list[2].Fetch(t.Context(), syncd.Request{Part: "C1"})
		if err != nil || len(page.Records) != 3 || len(f.asked) != 2 || time.Since(began) == 0 {
			t.Errorf("got %d records after %d requests and %s: %v", len(page.Records), len(f.asked), time.Since(began), err)
		}
	})
}

// Channels are marked in milliseconds, users in seconds.
func TestLists(t *testing.T) {
	answers := map[string]string{
		"conversations.list ":      `{"ok":true,"channels":[{"id":"C1","updated":1689965803820,"is_archived":true},{"id":"C2"}],"response_metadata":{"next_cursor":"dGVh="}}`,
		"conversations.list x":     `{"ok":true,"channels":[]}`,
		"conversations.list dGVh=": `{"ok":true,"channels":[],"response_metadata":{"next_cursor":"x"}}`,
		"users.list ":              `{"ok":true,"members":[{"id":"U1","updated":1689965803,"deleted":true},{"id":"U2","updated":0},{"id":"U3","updated":"soon"}],"response_metadata":null}`,
	}
	var queries []string
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		queries = append(queries, r.URL.RequestURI())
		fmt.Fprint(w, answers[strings.TrimPrefix(r.URL.Path, "/api/")+" "+r.URL.Query().Get("cursor")])
	})
	read := func(name string) (got []syncd.Record) {
		s := stream(t, h, name, func(o *Options) { o.Team, o.SkipArchived = "T1", true })
		req := syncd.Request{}
		for {
			page := fetch(t, s, req)
			for _, r := range page.Records {
				r.Data = nil
				if r.Err != nil {
					r.Err = errors.New("bad")
				}
				got = append(got, r)
			}
			if req.Page = page.Next; req.Page == "" {
				return got
			}
		}
	}
	text := cmp.Comparer(func(a, b error) bool { return (a == nil) == (b == nil) })
	if diff := cmp.Diff([]syncd.Record{{ID: "C1", Mark: 1689965803_820_000_000}, {ID: "C2"}}, read("channels"), text); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]syncd.Record{{ID: "U1", Mark: 1689965803_000_000_000, Deleted: true}, {ID: "U2"}, {Err: errors.New("bad")}}, read("users"), text); diff != "" {
		t.Error(diff)
	}
	want := []string{
		"/api/conversations.list?exclude_archived=true&limit=200&team_id=T1&types=public_channel%2Cprivate_channel",
		"/api/conversations.list?cursor=dGVh%3D&exclude_archived=true&limit=200&team_id=T1&types=public_channel%2Cprivate_channel",
		"/api/conversations.list?cursor=x&exclude_archived=true&limit=200&team_id=T1&types=public_channel%2Cprivate_channel",
		"/api/users.list?limit=200&team_id=T1",
	}
	if diff := cmp.Diff(want, queries); diff != "" {
		t.Error(diff)
	}
}

func TestParts(t *testing.T) {
	type answers map[string]string // by cursor
	for name, c := range map[string]struct {
		answers answers
		want    []string
		err     string
	}{
		"pages":   {answers: answers{"": `{"ok":true,"channels":[{"id":"C1A"},{"id":"G2B"}],"response_metadata":{"next_cursor":"a"}}`, "a": `{"ok":true,"channels":[],"response_metadata":{"next_cursor":"b"}}`, "b": `{"ok":true,"channels":[{"id":"C3C"}]}`}, want: []string{"C1A", "G2B", "C3C"}},
		"none":    {answers: answers{"": `{"ok":true,"channels":[]}`}, err: "/invite"},
		"round":   {answers: answers{"": `{"ok":true,"channels":[],"response_metadata":{"next_cursor":"a"}}`, "a": `{"ok":true,"channels":[],"response_metadata":{"next_cursor":"a"}}`}, err: "comes round again"},
		"refused": {answers: answers{"": `{"ok":false,"error":"missing_scope","needed":"channels:read"}`}, err: "channels:read"},
		"slash":   {answers: answers{"": `{"ok":true,"channels":[{"id":"C1/2"}]}`}, err: "not the id of a channel"},
		"no id":   {answers: answers{"": `{"ok":true,"channels":[{"name":"general"}]}`}, err: "not the id of a channel"},
	} {
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/api/users.conversations" {
				t.Errorf("%s: asked %s", name, r.URL.Path)
			}
			fmt.Fprint(w, c.answers[r.URL.Query().Get("cursor")])
		})
		got, err := stream(t, h, "messages", nil).Parts(t.Context())
		if c.err == "" && (err != nil || !slices.Equal(got, c.want)) || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: got %v, %v, want %v, %q", name, got, err, c.want, c.err)
		}
	}
	chosen := stream(t, http.NotFoundHandler(), "messages", func(o *Options) { o.Channels = []string{"C1A"} })
	if got, err := chosen.Parts(t.Context()); err != nil || !slices.Equal(got, []string{"C1A"}) {
		t.Errorf("chosen channels: got %v, %v", got, err)
	}
}

func TestOptions(t *testing.T) {
	for _, c := range []struct {
		change func(*Options)
		want   string // the option that is wrong
		count  int
	}{
		{change: func(*Options) {}, count: 3},
		{change: func(o *Options) { o.Only = []string{"users", "messages"} }, count: 2},
		{change: func(o *Options) { o.Channels, o.Types, o.Lookback = []string{"C0123ABCD"}, []string{"im"}, 0 }, count: 3},
		{change: func(o *Options) { o.Only = []string{"message"} }, want: "streams"},
		{change: func(o *Options) { o.Channels = []string{"#general"} }, want: "channels"},
		{change: func(o *Options) { o.Channels = []string{"C1/2"} }, want: "channels"},
		{change: func(o *Options) { o.Types = nil }, want: "types"},
		{change: func(o *Options) { o.Types = []string{"dm"} }, want: "types"},
		{change: func(o *Options) { o.Lookback = -1 }, want: "lookback"},
		{change: func(o *Options) { o.Lookback = 1 << 40 }, want: "lookback"},
		{change: func(o *Options) { o.PageSize = 0 }, want: "page_size"},
		{change: func(o *Options) { o.PageSize = 1000 }, want: "page_size"},
	} {
		o := Connector().Options().(*Options)
		c.change(o)
		list, err := o.Streams(nil)
		got := ""
		if bad, ok := errors.AsType[*syncd.OptionError](err); ok {
			got = bad.Option
		}
		if got != c.want || len(list) != c.count {
			t.Errorf("%+v: got %d streams, %v, want %d and the option %q", o, len(list), err, c.count, c.want)
		}
	}
}
