package outside

import (
	"net/http"
	"os/exec"
	"testing"
)

// A MinifluxServer is a Miniflux without feeds.
type MinifluxServer struct {
	Server
	Username, Password string // of its administrator, for basic authentication
	Token              string // the same account's API key: X-Auth-Token: TOKEN
}

// Miniflux starts a Miniflux on an empty PostgreSQL database, which ends with
// the test. Feeds are read when Refresh says so, and never otherwise.
//
// Its API: https://miniflux.app/docs/api.html. GET /v1/entries is
//
//	{"total":3,"entries":[{"id":1,"user_id":1,"feed_id":1,"status":"unread","hash":"2e7d2c03a95...",
//	  "title":"third","url":"http://127.0.0.1:41653/items/c","comments_url":"","language":"",
//	  "published_at":"2026-01-01T12:00:00Z","created_at":"2026-12-01T04:23:42.115421Z",
//	  "changed_at":"2026-12-01T04:23:42.115421Z","content":"three","author":"","share_code":"",
//	  "starred":false,"reading_time":1,"enclosures":[],"feed":{"id":1,...,
//	  "checked_at":"2026-12-01T04:23:42.114892Z",...},"tags":[]}]}
//
// What connectors must stand, as the tests of this file show:
//
//   - limit= is 100 unless it is given. Above 1000 is status 400, and 0 is 1000.
//     offset= counts entries. Beyond the end the list is empty and total is right.
//   - order= is id, status, changed_at, published_at, created_at, category_title,
//     category_id, title or author, and published_at by default; direction= is asc, the default, or desc.
//     Ties have no order among each other, and whatever is marked at once has the
//     same changed_at to the microsecond: pages by offset can lose and repeat them.
//     Ids are unique and grow, but a feed's newest item may get the lowest.
//   - after_entry_id=, before_entry_id= exclude the id itself, and go with any order.
//   - changed_after= is Unix seconds, and changed_at has microseconds: entries of the
//     given second itself are listed, all but one of its very first microsecond.
//     What is no whole number is ignored, and the list is everything.
//   - changed_at moves when an entry is read, unread, starred. It does not move when
//     its feed corrects the title or the text, nor for PUT /v1/entries/1.
//   - Every entry carries its feed, whose checked_at (and next_check_at, etag_header,
//     parsing_error_count ...) changes with each refresh: no entry is the same
//     twice, though nothing in it changed. Leave "feed" out of what is compared.
//   - Entries leave without a trace: read ones are deleted after 60 days, unread ones
//     after 180, at once by PUT /v1/flush-history (202: soon), and all with their feed.
//     The status "removed" of older versions is 400 now. What was deleted does not come
//     back with the next refresh.
//   - Errors are {"error_message":"..."}: limit value should be <= 1000.
//   - The API key is X-Auth-Token, not a bearer token; basic authentication works too,
//     and has WWW-Authenticate in good answers as well.
func Miniflux(tb testing.TB, databaseURL string) *MinifluxServer {
	tb.Helper()
	program := miniflux.need(tb)
	m := &MinifluxServer{Username: "owner", Password: "correct horse battery"}
	address := serve(tb, service{name: "miniflux", dir: tb.TempDir(), health: "/healthcheck", command: func(address string) *exec.Cmd {
		cmd := exec.Command(program)
		cmd.Env = []string{
			"DATABASE_URL=" + databaseURL,
			"RUN_MIGRATIONS=1",
			"CREATE_ADMIN=1", "ADMIN_USERNAME=" + m.Username, "ADMIN_PASSWORD=" + m.Password,
			"LISTEN_ADDR=" + address,
			"BASE_URL=http://" + address,
			"FETCHER_ALLOW_PRIVATE_NETWORKS=1", // feeds are on loopback
			"DISABLE_SCHEDULER_SERVICE=1",
			"LOG_LEVEL=warning",
		}
		return cmd
	}})
	m.Server = newServer(tb, address)
	m.sign = func(req *http.Request) { req.SetBasicAuth(m.Username, m.Password) }
	m.Token = m.Call(tb, "POST", "/v1/api-keys", map[string]string{"description": "test"}).Object(tb).Text("token")
	m.sign = func(req *http.Request) { req.Header.Set("X-Auth-Token", m.Token) } // a password takes it a quarter of a second
	return m
}

// AddFeed subscribes to the feed at the URL, which is read at once, and returns its id.
func (m *MinifluxServer) AddFeed(tb testing.TB, url string) (id string) {
	tb.Helper()
	return m.Call(tb, "POST", "/v1/feeds", map[string]any{"feed_url": url}).Object(tb).Text("feed_id")
}

// Refresh reads a feed again, and returns when its entries are stored.
func (m *MinifluxServer) Refresh(tb testing.TB, feed string) {
	tb.Helper()
	m.Call(tb, "PUT", "/v1/feeds/"+feed+"/refresh", nil)
}

// Entries lists entries by a query, such as "order=id&limit=10".
func (m *MinifluxServer) Entries(tb testing.TB, query string) []Object {
	tb.Helper()
	return m.Call(tb, "GET", "/v1/entries?"+query, nil).Object(tb).Objects(tb, "entries")
}

// Mark makes entries "read" or "unread".
func (m *MinifluxServer) Mark(tb testing.TB, status string, ids ...int64) {
	tb.Helper()
	m.Call(tb, "PUT", "/v1/entries", map[string]any{"entry_ids": ids, "status": status})
}

// FlushRead deletes all entries that are read and not starred.
func (m *MinifluxServer) FlushRead(tb testing.TB) {
	tb.Helper()
	m.Call(tb, "PUT", "/v1/flush-history", nil) // 202: it does so after the answer
	await(tb, "delete the read entries", func() bool {
		return len(m.Entries(tb, "status=read&starred=false&limit=1")) == 0
	})
}

// Delete unsubscribes from a feed, and so deletes its entries.
func (m *MinifluxServer) Delete(tb testing.TB, feed string) {
	tb.Helper()
	m.Call(tb, "DELETE", "/v1/feeds/"+feed, nil)
}
