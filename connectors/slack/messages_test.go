package slack

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

// channelOf makes a channel of n messages, of which every third begins a thread
// of three replies; the second reply is sent to the channel, too.
func channelOf(n int) []post {
	var out []post
	for i := range n {
		first := at(i*10, i)
		out = append(out, post{ts: first, text: fmt.Sprintf("<%d> & more", i)})
		for k := range 3 {
			if i%3 == 0 {
				out = append(out, post{ts: at(i*10+k+1, 7), in: first, text: "reply", also: k == 1})
			}
		}
	}
	return out
}

func small(o *Options) { o.PageSize = 4 }

// All messages and replies arrive, byte for byte as the list has them that
// counts, from whichever end the history begins.
func TestMessagesArriveWhole(t *testing.T) {
	for _, ascends := range []bool{false, true} {
		f := &workspace{posts: channelOf(40), ascends: ascends}
		got := walk(t, stream(t, f, "messages", small), 0)
		if len(got) != len(f.posts) {
			t.Errorf("ascends %v: got %d messages, want %d", ascends, len(got), len(f.posts))
		}
		for _, p := range f.posts {
			if want := f.json(p, p.in != "" && !p.also); string(got[p.ts]) != want {
				t.Fatalf("message %s: got %s, want %s", p.ts, got[p.ts], want)
			}
		}
	}
}

// Messages that come and go while the list is read shift none of the others.
func TestMessagesChangeWhileTheyAreRead(t *testing.T) {
	for _, ascends := range []bool{false, true} {
		f := &workspace{posts: channelOf(40), ascends: ascends}
		kept := f.posts[len(f.posts)/2:]
		kept = slices.Clone(kept)
		f.before = func(n int) {
			f.posts = append(f.posts[1:], post{ts: at(5000+n, 0), text: "new"})
		}
		got := walk(t, stream(t, f, "messages", small), 0)
		for _, p := range kept {
			if slices.Contains(f.posts, p) && got[p.ts] == nil {
				t.Errorf("ascends %v: message %s was lost", ascends, p.ts)
			}
		}
	}
}

// The bound is inclusive, to the microsecond; ties at it are listed.
func TestSinceIsInclusive(t *testing.T) {
	f := &workspace{posts: []post{{ts: at(1, 5)}, {ts: at(1, 6)}, {ts: at(1, 7)}}}
	s := stream(t, f, "messages", func(o *Options) { o.Lookback = 0 })
	mark, _ := ts(at(1, 6)).mark()
	got := walk(t, s, mark+999) // what is finer than a microsecond is cut off
	if len(got) != 2 || got[at(1, 5)] != nil {
		t.Errorf("got %v, want the message of the bound itself and the one after it", got)
	}
}

// Within the days that are read again an edit, a tombstone and a reply in an
// old thread are seen; threads without a new reply are not asked for.
func TestLookback(t *testing.T) {
	const day = 24 * 3600
	f := &workspace{posts: []post{
		{ts: at(0, 1), text: "ten days old"},
		{ts: at(1, 1), in: at(0, 1), text: "its reply"},
		{ts: at(5*day, 1), text: "edited"},
		{ts: at(5*day, 2), text: "with a quiet thread"},
		{ts: at(5*day+1, 1), in: at(5*day, 2), text: "quiet"},
		{ts: at(5*day, 3), buried: true},
		{ts: at(5*day+1, 2), in: at(5*day, 3), text: "quiet"},
		{ts: at(5*day, 4), text: "with a new reply"},
		{ts: at(5*day+1, 3), in: at(5*day, 4), text: "edited"},
		{ts: at(10*day+5, 1), in: at(5*day, 4), text: "new"},
		{ts: at(10*day+6, 1), in: at(0, 1), text: "new in a thread that is too old"},
	}}
	s := stream(t, f, "messages", nil)
	got := walk(t, s, since(10*day))
	want := []string{at(5*day, 1), at(5*day, 2), at(5*day, 3), at(5*day, 4), at(5*day+1, 3), at(10*day+5, 1)}
	if ids := keys(got); !slices.Equal(ids, want) {
		t.Errorf("got %v, want %v", ids, want)
	}
	if want := []string{"conversations.history ", "conversations.replies " + at(5*day, 4)}; !slices.Equal(f.asked, want) {
		t.Errorf("asked %v, want %v", f.asked, want)
	}
	if full := walk(t, s, 0); len(full) != len(f.posts) {
		t.Errorf("a full walk got %d messages, want %d", len(full), len(f.posts))
	}
	f.asked = nil
	walk(t, stream(t, f, "messages", func(o *Options) { o.Threads = false }), 0)
	if len(f.asked) != 1 {
		t.Errorf("without threads: asked %v, want the history alone", f.asked)
	}
}

func keys[V any](m map[string]V) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func TestTombstoneIsDeleted(t *testing.T) {
	f := &workspace{posts: []post{{ts: at(0, 3), buried: true}, {ts: at(1, 2), in: at(0, 3)}, {ts: at(2, 2)}}}
	page := fetch(t, stream(t, f, "messages", nil), syncd.Request{Part: "C1"})
	for _, r := range page.Records {
		if r.Deleted != (r.ID == at(0, 3)) {
			t.Errorf("message %s: deleted is %v", r.ID, r.Deleted)
		}
	}
	if len(page.Records) != 2 {
		t.Errorf("got %d records, want 2", len(page.Records))
	}
}

// A thread that was deleted after its first message was listed ends there.
func TestThreadThatIsGone(t *testing.T) {
	f := &workspace{posts: channelOf(7)}
	f.before = func(n int) {
		if n == 2 {
			f.posts = slices.DeleteFunc(f.posts, func(p post) bool { return p.ts == at(30, 3) || p.in == at(30, 3) })
		}
	}
	got := walk(t, stream(t, f, "messages", nil), 0)
	for _, p := range f.posts {
		if got[p.ts] == nil {
			t.Errorf("message %s was lost", p.ts)
		}
	}
}

func TestFetchIsRepeatable(t *testing.T) {
	f := &workspace{posts: channelOf(20)}
	s := stream(t, f, "messages", small)
	req := syncd.Request{Part: "C1"}
	for pages := 0; ; pages++ {
		one, two := fetch(t, s, req), fetch(t, s, req)
		if diff := cmp.Diff(one, two); diff != "" {
			t.Fatalf("%+v: the second answer differs: %s", req, diff)
		}
		if req.Page = one.Next; req.Page == "" {
			if pages < 10 {
				t.Errorf("got %d pages, want several of each kind", pages)
			}
			return
		}
	}
}

// A cursor that is refused, of the history or of a thread, is told as a token
// that is refused; a token that is none is an error.
func TestCursorRefused(t *testing.T) {
	refuse := func(_ string, r *http.Request, _ int) any {
		if r.URL.Query().Get("cursor") != "" {
			return "invalid_cursor"
		}
		return nil
	}
	flat := []post{{ts: at(1, 0)}, {ts: at(2, 0)}, {ts: at(3, 0)}}
	thread := []post{{ts: at(1, 0)}, {ts: at(2, 0), in: at(1, 0)}, {ts: at(3, 0), in: at(1, 0)}}
	var s syncd.Stream
	for want, posts := range map[string][]post{"conversations.history": flat, "conversations.replies": thread} {
		s = stream(t, &workspace{posts: posts, refuse: refuse}, "messages", func(o *Options) { o.PageSize = 2 })
		page := fetch(t, s, syncd.Request{Part: "C1"})
		if want == "conversations.replies" {
			page = fetch(t, s, syncd.Request{Part: "C1", Page: page.Next})
		}
		_, err := s.Fetch(t.Context(), syncd.Request{Part: "C1", Page: page.Next})
		refused, ok := errors.AsType[*syncd.HTTPError](err)
		if !ok || refused.Status != 400 || !strings.Contains(err.Error(), "channel C1") || !strings.Contains(err.Error(), want+`: Slack refuses with "invalid_cursor"`) {
			t.Errorf("%s: got %v, want an answer that refuses the token", want, err)
		}
	}
	for _, token := range []string{"x", `{"threads":1}`} {
		if _, err := s.Fetch(t.Context(), syncd.Request{Part: "C1", Page: token}); err == nil {
			t.Errorf("token %s: got no error", token)
		}
	}
}

func TestOneBadElementCostsOneRecord(t *testing.T) {
	body := `{"ok":true,"messages":[{"ts":"1772366400.000001"}, {"text":"no ts"}, {"ts":1772366400.000002}, "four",
		{"ts":"1772366400.000003","subtype":7,"thread_ts":false,"latest_reply":1}, {"ts":"yesterday"},
		{"ts":"1772366400.000004","ts":"1772366400.000005"}, {"ts":"9007199254740993.1"}, {"ts":null}, {"ts":"1772366400.123456"}]}`
	f := &workspace{refuse: func(string, *http.Request, int) any { return []byte(body) }}
	type row struct {
		ID   string
		Mark syncd.Mark
		Bad  bool
	}
	var got []row
	page := fetch(t, stream(t, f, "messages", nil), syncd.Request{Part: "C1"})
	for _, r := range page.Records {
		got = append(got, row{r.ID, r.Mark, r.Err != nil})
	}
	zero := since(0)
	want := []row{{"1772366400.000001", zero + 1000, false}, {"", 0, false}, {"", 0, true}, {"", 0, true}, {"1772366400.000003", zero + 3000, false},
		{"", 0, true}, {"", 0, true}, {"", 0, true}, {"", 0, false}, {"1772366400.123456", zero + 123_456_000, false}}
	if diff := cmp.Diff(want, got); diff != "" || page.Next != "" {
		t.Error(page.Next, diff)
	}
}

func TestTS(t *testing.T) {
	for text, want := range map[string]syncd.Mark{
		"1712345678.123456": 1712345678_123456000, "1712345678": 1712345678_000000000, "1712345678.1": 1712345678_100000000,
		"1712345678.123456789": 1712345678_123456789, "": 0, ".": 0, "1712345678.x": 0, "-5.1": 0, "1e9": 0, "1712345678.1234567890": 0,
		"99999999999.1": 0, "1712345678.1.2": 0, "0.0": 0, "9999999999.5": 0, " 1712345678.1": 0, "+712345678.1": 0,
	} {
		got, ok := ts(text).mark()
		if ok != (want != 0) || ok && got != want {
			t.Errorf("%q: got %d, %v, want %d", text, got, ok, want)
		}
		if ok && len(text) == 17 && tsOf(got) != text {
			t.Errorf("%q comes back as %q", text, tsOf(got))
		}
	}
}
