package notion

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/connectortest"
)

func id(n int64, _ time.Time) string {
	return fmt.Sprintf("%08x-0000-4000-8000-%012x", n*2654435761%(1<<32), n)
}

func TestSuite(t *testing.T) {
	found := connectortest.Facts{ID: id, Grain: time.Minute, Deletions: connectortest.Told}
	connectortest.Run(t, connectortest.Subject{
		Connector: Connector(),
		Options: func() syncd.Options {
			return &Options{Trash: true, Only: []string{"pages", "data_sources", "users", "rows"}, DataSources: sources}
		},
		Fake: func(w *connectortest.World) http.Handler { return world{w} },
		Streams: map[string]connectortest.Facts{
			"pages": found, "data_sources": found,
			"users": {ID: id, Mark: connectortest.Unmarked},
			"rows":  {ID: id, Grain: time.Minute, Parts: sources},
		},
	})
}

// With the option absence a search is to be whole, whatever is edited meanwhile.
func TestSuiteWithAbsence(t *testing.T) {
	for name, trash := range map[string]bool{"with the trash": true, "without the trash": false} {
		found := connectortest.Facts{ID: id, Grain: time.Minute}
		if trash {
			found.Deletions = connectortest.Told
		}
		t.Run(name, func(t *testing.T) {
			connectortest.Run(t, connectortest.Subject{
				Connector: Connector(),
				Options: func() syncd.Options {
					return &Options{Trash: trash, Absence: true, Only: []string{"pages", "data_sources"}}
				},
				Fake:    func(w *connectortest.World) http.Handler { return world{w} },
				Streams: map[string]connectortest.Facts{"pages": found, "data_sources": found},
			})
		})
	}
}

var sources = []string{"11111111-0000-4000-8000-000000000001", "11111111-0000-4000-8000-000000000002"}

// A world serves the suite's items as Notion does.
type world struct{ *connectortest.World }

// An asked is what requests can say.
type asked struct {
	Filter struct {
		Property string `json:"property"`
		Value    string `json:"value"`
		Trash    bool   `json:"in_trash"`
		Stamp    string `json:"timestamp"`
		Edited   struct {
			From string `json:"on_or_after"`
		} `json:"last_edited_time"`
	} `json:"filter"`
	Sort   sorting   `json:"sort"`
	Sorts  []sorting `json:"sorts"`
	Cursor string    `json:"start_cursor"`
	Size   int       `json:"page_size"`
}

func (w world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	var q asked
	if r.Method == http.MethodPost {
		d := json.NewDecoder(r.Body)
		d.DisallowUnknownFields()
		if err := d.Decode(&q); err != nil {
			refuse(rw, 400, "validation_error", err.Error())
			return
		}
	} else {
		q.Cursor = r.URL.Query().Get("start_cursor")
		fmt.Sscan(r.URL.Query().Get("page_size"), &q.Size)
	}
	if r.Header.Get("Notion-Version") != version {
		refuse(rw, 400, "missing_version", "Notion-Version header should be defined")
		return
	}
	var items []connectortest.Item
	path := strings.TrimPrefix(r.URL.Path, "/v1/")
	switch {
	case path == "search" && q.Sort == sorting{"last_edited_time", "descending"} && q.Filter.Property == "object":
		stream := map[string]string{"page": "pages", "data_source": "data_sources"}[q.Filter.Value]
		items = slices.DeleteFunc(w.Items(stream, ""), func(it connectortest.Item) bool { return it.Deleted != q.Filter.Trash })
		items = connectortest.Newest(items)
	case path == "users":
		items = w.Items("users", "")
	default:
		part := strings.TrimSuffix(strings.TrimPrefix(path, "data_sources/"), "/query")
		items = connectortest.Oldest(connectortest.Since(w.Items("rows", part), q.Filter.Edited.From))
	}
	rest := items // a cursor names the first element of its page
	if q.Cursor != "" {
		i := slices.IndexFunc(items, func(it connectortest.Item) bool { return it.ID == q.Cursor })
		if i < 0 {
			refuse(rw, 400, "validation_error", "The start_cursor provided is invalid: "+q.Cursor)
			return
		}
		rest = items[i:]
	}
	page, more := connectortest.Cut(rest, 0, w.Limit(fmt.Sprint(q.Size)))
	next := "null"
	if more > 0 {
		next = fmt.Sprintf("%q", rest[more].ID)
	}
	fmt.Fprintf(rw, `{"object":"list","results":%s,"next_cursor":%s,"has_more":%v,"type":"page_or_data_source"}`,
		w.Elements(page, render), next, more > 0)
}

func render(it connectortest.Item) string {
	if it.Stream == "users" {
		return fmt.Sprintf(`{"object":"user","id":%q,"name":"%d"}`, it.ID, it.Rev)
	}
	return fmt.Sprintf(`{"object":"page","id":%q,"last_edited_time":%q,"in_trash":%v,"properties":{"Rev":{"number":%d}}}`,
		it.ID, it.Changed.Format("2006-01-02T15:04:05.000Z"), it.Deleted, it.Rev)
}

func refuse(rw http.ResponseWriter, status int, code, message string) {
	rw.WriteHeader(status)
	fmt.Fprintf(rw, `{"object":"error","status":%d,"code":%q,"message":%q}`, status, code, message)
}
