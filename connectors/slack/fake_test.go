package slack

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/connectortest"
)

// stream returns a stream under the default options, changed by change.
func stream(t *testing.T, h http.Handler, name string, change func(*Options)) syncd.Stream {
	t.Helper()
	o := Connector().Options().(*Options)
	if change != nil {
		change(o)
	}
	s, ok := connectortest.Open(t, Connector().BaseURL, o, h)[name]
	if !ok {
		t.Fatalf("there is no stream %s", name)
	}
	return s
}

// A post is a message of the fake, or a reply to one.
type post struct {
	ts     string
	in     string // the ts of the thread's first message
	text   string
	also   bool // the reply was sent to the channel, too
	buried bool // it was deleted and its thread was not: a tombstone
}

func at(second, micro int) string { return fmt.Sprintf("%d.%06d", 1772366400+second, micro) }

// workspace is a channel C1 as Slack serves it. Cursors name the last element
// of their page, so that new messages move nothing.
type workspace struct {
	posts   []post
	ascends bool                                            // the history begins at its oldest end
	before  func(n int)                                     // called before the nth request is answered, from 1
	refuse  func(method string, r *http.Request, n int) any // a code, or an answer; nil goes on
	asked   []string
}

func (f *workspace) json(p post, replies bool) string {
	m := map[string]any{"type": "message", "ts": p.ts, "text": p.text}
	latest, count := "", 0
	for _, q := range f.posts {
		if q.in == p.ts && q.ts != p.ts {
			latest, count = max(latest, q.ts), count+1
		}
	}
	switch {
	case count > 0:
		m["thread_ts"], m["latest_reply"], m["reply_count"] = p.ts, latest, count
	case p.in != "":
		m["thread_ts"] = p.in
	}
	if p.also {
		m["subtype"], m["root"] = "thread_broadcast", map[string]any{"in": map[bool]string{true: "replies", false: "history"}[replies]}
	}
	if p.buried {
		m["subtype"], m["text"] = "tombstone", "This message was deleted."
	}
	text, _ := json.Marshal(m)
	return string(text)
}

func (f *workspace) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	method, q := strings.TrimPrefix(r.URL.Path, "/api/"), r.URL.Query()
	f.asked = append(f.asked, method+" "+q.Get("ts")+q.Get("cursor"))
	if f.before != nil {
		f.before(len(f.asked))
	}
	if f.refuse != nil {
		switch answer := f.refuse(method, r, len(f.asked)).(type) {
		case string:
			fmt.Fprintf(w, `{"ok":false,"error":%q}`, answer)
			return
		case []byte:
			w.Write(answer)
			return
		}
	}
	var list []post
	first := -1 // of a thread: stands on its first page, whatever the bounds
	for _, p := range f.posts {
		oldest := q.Get("oldest")
		in := p.ts > oldest || p.ts == oldest && q.Get("inclusive") == "true"
		switch {
		case method == "conversations.replies" && p.ts == q.Get("ts"):
			first = len(list)
			list = append(list, p)
		case method == "conversations.replies" && p.in == q.Get("ts") && in,
			method == "conversations.history" && (p.in == "" || p.also) && in:
			list = append(list, p)
		}
	}
	if method == "conversations.replies" && first < 0 {
		fmt.Fprint(w, `{"ok":false,"error":"thread_not_found"}`)
		return
	}
	down := method == "conversations.history" && !f.ascends
	slices.SortFunc(list, func(a, b post) int {
		if down {
			a, b = b, a
		}
		return strings.Compare(a.ts, b.ts)
	})
	if cursor := q.Get("cursor"); cursor != "" {
		list = slices.DeleteFunc(list, func(p post) bool { return down && p.ts >= cursor || !down && p.ts <= cursor })
	}
	size, _ := strconv.Atoi(q.Get("limit"))
	next := ""
	if len(list) > size {
		list, next = list[:size], list[size-1].ts
	}
	var texts []string
	for _, p := range list {
		texts = append(texts, f.json(p, method == "conversations.replies"))
	}
	fmt.Fprintf(w, `{"ok":true,"messages":[%s],"has_more":%v,"response_metadata":{"next_cursor":%q}}`, strings.Join(texts, ",\n "), next != "", next)
}

// walk reads a part as the engine does a stream without order: by its tokens,
// to the end.
func walk(t *testing.T, s syncd.Stream, since syncd.Mark) map[string]json.RawMessage {
	t.Helper()
	got := map[string]json.RawMessage{}
	asked := map[string]bool{}
	req := syncd.Request{Part: "C1", Since: since}
	for {
		page := fetch(t, s, req)
		for _, r := range page.Records {
			if r.Err != nil {
				t.Errorf("record %s: %v", r.ID, r.Err)
			}
			got[r.ID] = r.Data
		}
		if req.Page = page.Next; page.Next == "" {
			return got
		}
		if asked[page.Next] {
			t.Fatalf("the token %s came twice", page.Next)
		}
		asked[page.Next] = true
	}
}

func fetch(t *testing.T, s syncd.Stream, req syncd.Request) syncd.Page {
	t.Helper()
	page, err := s.Fetch(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// since is the mark of a second of the fake.
func since(second int) syncd.Mark { return syncd.At(time.Unix(int64(1772366400+second), 0)) }
