package providers_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/syncdhq/syncd/internal/outside"
	"github.com/syncdhq/syncd/internal/pgtest"
)

// These tests read servers that others wrote, by the whole program: first
// everything, then what changed, then everything once more for what is gone.
// Each time the table must be what the server itself lists.

func TestOutsidePocketBase(t *testing.T) { eachStore(t, testOutsidePocketBase) }

func testOutsidePocketBase(t *testing.T, deploy deployer) {
	p := outside.PocketBase(t)
	p.CreateCollection(t, "orders", map[string]string{"title": "text", "total": "number"})
	p.CreateCollection(t, "customers", map[string]string{"name": "text"})
	listed := func() map[string]string {
		all := map[string]string{}
		for _, collection := range []string{"orders", "customers"} {
			page := p.Call(t, "GET", "/api/collections/"+collection+"/records?perPage=1000", nil).Object(t)
			listing(t, all, "records/"+collection+"/", page["items"])
		}
		return all
	}
	var ids []string
	for i := range 25 {
		ids = append(ids, p.Create(t, "orders", map[string]any{"title": fmt.Sprintf("<ö> %d", i), "total": 0.1 * float64(i)}).Text("id"))
	}
	p.Create(t, "customers", map[string]any{"name": "Ann"})
	// In pages of 4, though the most would be 1000.
	d := deploy(t, []string{"pocketbase"},
		"connector: pocketbase\nbase_url: "+p.URL+"\noptions: { streams: { records: { paging: { size: 4 } } } }",
		"options: { params: { collections: \"orders,customers\" } }\ncredentials: { token: \""+p.User(t, "user@example.com")+"\" }")
	if c := d.sync(); c.Inserted != 26 {
		t.Errorf("first run: %+v", c)
	}
	holds(t, "after the first run", d, listed())

	for _, id := range []string{ids[0], ids[13], ids[24]} {
		p.Update(t, "orders", id, map[string]any{"title": "changed"})
	}
	for range 6 {
		p.Create(t, "orders", map[string]any{"title": "new"})
	}
	if c := d.sync(); c.Inserted != 6 || c.Updated != 3 {
		t.Errorf("second run: %+v", c)
	}
	holds(t, "after the second run", d, listed())
	if c := d.sync(); c.Inserted+c.Updated+c.Deleted != 0 {
		t.Errorf("a run in which nothing changed: %+v", c)
	}

	p.Delete(t, "orders", ids[3])
	p.Delete(t, "orders", ids[13])
	if c := d.sync(); c.Deleted != 0 {
		t.Errorf("what is gone leaves no trace to be found: %+v", c)
	}
	if c := d.sync("--full"); c.Deleted != 2 || c.Updated != 0 {
		t.Errorf("full run: %+v", c)
	}
	holds(t, "after the full run", d, listed())
}

// Times that tie in more records than a page has, as a migration in SQL leaves
// them, and records that have none.
func TestOutsidePocketBaseTies(t *testing.T) {
	p := outside.PocketBase(t)
	p.Call(t, "POST", "/api/collections", map[string]any{"name": "orders", "type": "base", "fields": []map[string]any{{"name": "title", "type": "text"}}})
	for range 9 {
		p.Create(t, "orders", nil)
	}
	// The field comes later, and so what was there has no time.
	p.Call(t, "PATCH", "/api/collections/orders", map[string]any{"fields": []map[string]any{
		{"name": "title", "type": "text"}, {"name": "updated", "type": "autodate", "onCreate": true, "onUpdate": true},
	}})
	for range 3 {
		p.Create(t, "orders", nil)
	}
	d := deploy(t, []string{"pocketbase"},
		"connector: pocketbase\nbase_url: "+p.URL+"\noptions: { streams: { records: { paging: { size: 2 } } } }",
		"options: { params: { collections: orders } }\ncredentials: { token: \""+p.Token+"\" }")
	d.sync()
	all := map[string]string{}
	listing(t, all, "records/orders/", p.Call(t, "GET", "/api/collections/orders/records?perPage=1000", nil).Object(t)["items"])
	if len(all) != 12 {
		t.Fatalf("%d records", len(all))
	}
	holds(t, "after the first run", d, all)
}

func TestOutsideMiniflux(t *testing.T) { eachStore(t, testOutsideMiniflux) }

func testOutsideMiniflux(t *testing.T, deploy deployer) {
	m := outside.Miniflux(t, pgtest.Database(t))
	item := func(i int) outside.Item {
		return outside.Item{GUID: strconv.Itoa(i), Title: fmt.Sprintf("entry <%d>", i), Content: "<p>ü</p>", Published: time.Date(2026, 1, 1, i, 0, 0, 0, time.UTC)}
	}
	var items []outside.Item
	for i := range 10 {
		items = append(items, item(i))
	}
	f := outside.Feed(t, items...)
	feed := m.AddFeed(t, f.URL)
	listed := func() map[string]string {
		all := map[string]string{}
		listing(t, all, "entries/", m.Call(t, "GET", "/v1/entries?limit=1000", nil).Object(t)["entries"])
		listing(t, all, "feeds/", m.Call(t, "GET", "/v1/feeds", nil).Body)
		listing(t, all, "categories/", m.Call(t, "GET", "/v1/categories", nil).Body)
		return all
	}
	d := deploy(t, []string{"miniflux"},
		"connector: miniflux\nbase_url: "+m.URL+"\noptions: { streams: { entries: { paging: { size: 4 }, overlap: 0s } } }",
		"credentials: { token: \""+m.Token+"\" }")
	if c := d.sync(); c.Inserted != 12 {
		t.Errorf("first run: %+v", c)
	}
	holds(t, "after the first run", d, listed())

	// Several are marked in one moment, and new ones come.
	m.Mark(t, "read", 1, 2, 3, 7, 8, 9)
	f.Set(append(items, item(10), item(11))...)
	m.Refresh(t, feed)
	if c := d.sync(); c.Inserted != 2 {
		t.Errorf("second run: %+v", c)
	}
	// Those that did not change themselves carry their feed as it was read before.
	got, want := d.table(), listed()
	for id, data := range want {
		if strip(t, got[id]) != strip(t, data) {
			t.Errorf("after the second run: record %s is %s\nand the provider lists %s", id, got[id], data)
		}
	}
	d.sync("--full")
	holds(t, "after a full run", d, listed())

	m.FlushRead(t)
	if c := d.sync("--full"); c.Deleted != 6 {
		t.Errorf("full run: %+v", c)
	}
	holds(t, "after the full run", d, listed())
}

// strip returns an entry without its feed.
func strip(t *testing.T, entry string) string {
	t.Helper()
	var o outside.Object
	if err := json.Unmarshal([]byte(entry), &o); err != nil {
		t.Fatalf("%s: %v", entry, err)
	}
	if o["feed_id"] != nil {
		delete(o, "feed")
	}
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// S3 is read by a description of a few lines: XML, and a token that the last
// page may have too.
func TestOutsideS3(t *testing.T) { eachStore(t, testOutsideS3) }

func testOutsideS3(t *testing.T, deploy deployer) {
	s := outside.S3(t)
	d := deploy(t, nil, `connector: rest
base_url: `+s.URL+`
options:
  streams:
    objects:
      path: /`+outside.Bucket+`
      query: { list-type: "2" }
      format: xml
      records: body.ListBucketResult.Contents
      id: Key
      mark: LastModified
      snapshot: true
      paging: { by: cursor, param: continuation-token, size: 2, size_param: max-keys, next: body.ListBucketResult.NextContinuationToken, more: 'body.ListBucketResult.IsTruncated == "true"' }`, "")
	holds := func(when string) {
		t.Helper()
		all := map[string]string{}
		for _, o := range s.List(t, "").Contents {
			all["objects/"+o.Key] = fmt.Sprintf(`{"ETag":%q,"Key":%q,"LastModified":%q,"Size":"%d"}`, o.ETag, o.Key, o.LastModified, o.Size)
		}
		table := d.table()
		for id, data := range table { // other fields are not what this is about
			var o outside.Object
			if err := json.Unmarshal([]byte(data), &o); err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprintf(`{"ETag":%q,"Key":%q,"LastModified":%q,"Size":%q}`, o.Text("ETag"), o.Text("Key"), o.Text("LastModified"), o.Text("Size")); got != all[id] {
				t.Errorf("%s: object %s is %s, want %s", when, id, got, all[id])
			}
			delete(all, id)
		}
		if len(all) > 0 {
			t.Errorf("%s: not in the table: %v", when, all)
		}
	}
	d.sync() // an empty bucket
	holds("an empty bucket")
	s.Put(t, "only.json", "{}")
	d.sync() // a list of one, which is no list in XML
	holds("one object")
	for _, key := range []string{"a.json", "B.json", "c/d.json", "c/e.json", "z.json"} { // 6: three full pages
		s.Put(t, key, `{"key":"`+key+`"}`)
	}
	if c := d.sync(); c.Inserted != 5 {
		t.Errorf("second run: %+v", c)
	}
	holds("three pages")
	s.Put(t, "a.json", `{"changed":true}`)
	s.Delete(t, "c/d.json")
	if c := d.sync(); c.Deleted != 1 || c.Updated != 1 {
		t.Errorf("third run: %+v", c)
	}
	holds("after a change and a deletion")
}

// Behind a limit of requests that says when to ask again, and one that does not.
func TestOutsideNginx(t *testing.T) {
	for name, retryAfter := range map[string]string{"without Retry-After": "", "with Retry-After": "1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"orders/6.json": "[]"}
			want := map[string]string{}
			for page := 1; page < 6; page++ {
				var elements []string
				for i := range 3 {
					element := fmt.Sprintf(`{"id": %d, "total": 1.50}`, 10*page+i)
					elements = append(elements, element)
					want[fmt.Sprintf("orders/%d", 10*page+i)] = element
				}
				files[fmt.Sprintf("orders/%d.json", page)] = "[" + strings.Join(elements, ",\n") + "]"
			}
			n := outside.Nginx(t, outside.NginxConfig{Files: files, Rate: "2r/s", RetryAfter: retryAfter})
			d := deploy(t, nil, "connector: rest\nbase_url: "+n.URL+`
options: { streams: { orders: { path: "/orders/{{ page }}.json", snapshot: true, paging: page } } }`, "")
			if c := d.sync(); c.Inserted != 15 {
				t.Errorf("first run: %+v", c)
			}
			holds(t, "after the first run", d, want)
			if c := d.sync(); c.Inserted+c.Updated+c.Deleted != 0 {
				t.Errorf("second run: %+v", c)
			}
		})
	}
}
