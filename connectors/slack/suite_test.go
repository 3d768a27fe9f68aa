package slack

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/connectortest"
)

func TestSuite(t *testing.T) {
	connectortest.Run(t, connectortest.Subject{
		Connector: Connector(),
		Fake:      func(w *connectortest.World) http.Handler { return world{w} },
		Streams: map[string]connectortest.Facts{
			"channels": {Grain: time.Millisecond, ID: func(n int64, _ time.Time) string { return fmt.Sprintf("C%d", n) }, EmptyPages: true},
			"users":    {Deletions: connectortest.Told, ID: func(n int64, _ time.Time) string { return fmt.Sprintf("U%d", n) }},
			"messages": {
				Parts: []string{"C101", "C102"},
				ID:    func(n int64, created time.Time) string { return fmt.Sprintf("%d.%06d", created.Unix(), n) },
				Mark:  func(it connectortest.Item) syncd.Mark { m, _ := ts(it.ID).mark(); return m },
			},
		},
	})
}

// A world serves the suite's items as Slack does. Of a channel's messages every
// fourth is a reply in the thread of the first one that is none.
type world struct{ *connectortest.World }

func (w world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	method := strings.TrimPrefix(r.URL.Path, "/api/")
	var items []connectortest.Item
	list, render := "channels", channelJSON
	switch method {
	case "users.conversations":
		fmt.Fprint(rw, `{"ok":true,"channels":[{"id":"C101"},{"id":"C102"}]}`)
		return
	case "conversations.list":
		items = w.Items("channels", "")
	case "users.list":
		items, list, render = w.Items("users", ""), "members", userJSON
	default:
		list = "messages"
		items, render = w.messages(method, q.Get("channel"), q.Get("ts"), q.Get("oldest"))
		if q.Get("inclusive") != "true" {
			items = slices.DeleteFunc(items, func(it connectortest.Item) bool { return it.ID == q.Get("oldest") })
		}
	}
	rest, ok := connectortest.After(items, q.Get("cursor"))
	if !ok {
		fmt.Fprint(rw, `{"ok":false,"error":"invalid_cursor"}`)
		return
	}
	page, more := connectortest.Cut(rest, 0, w.Limit(q.Get("limit")))
	next := ""
	if more > 0 {
		next = page[len(page)-1].ID
	}
	fmt.Fprintf(rw, `{"ok":true,%q:%s,"response_metadata":{"next_cursor":%q}}`, list, w.Elements(page, render), next)
}

func channelJSON(it connectortest.Item) string {
	return fmt.Sprintf(`{"id":%q,"updated":%d,"num_members":%d}`, it.ID, it.Changed.UnixMilli(), it.Rev)
}

func userJSON(it connectortest.Item) string {
	return fmt.Sprintf(`{"id":%q,"updated":%d,"deleted":%v,"rev":%d}`, it.ID, it.Changed.Unix(), it.Deleted, it.Rev)
}

// messages returns what a history, or a thread, lists.
func (w world) messages(method, channel, thread, oldest string) ([]connectortest.Item, func(connectortest.Item) string) {
	all := w.Items("messages", channel)
	isReply := func(it connectortest.Item) bool { return it.N%4 == 0 }
	root, latest := "", ""
	for _, it := range all {
		if !isReply(it) {
			root = cmp.Or(root, it.ID)
		} else {
			latest = max(latest, it.ID)
		}
	}
	replies := method == "conversations.replies"
	all = slices.DeleteFunc(all, func(it connectortest.Item) bool {
		return isReply(it) != replies || it.ID < oldest || replies && thread != root
	})
	slices.SortFunc(all, func(a, b connectortest.Item) int {
		if !replies {
			a, b = b, a // newest first
		}
		return strings.Compare(a.ID, b.ID)
	})
	return all, func(it connectortest.Item) string {
		about := ""
		if it.ID == root && latest != "" {
			about = fmt.Sprintf(`,"thread_ts":%q,"latest_reply":%q`, root, latest)
		}
		return fmt.Sprintf(`{"type":"message","ts":%q,"text":"%d"%s}`, it.ID, it.Rev, about)
	}
}
