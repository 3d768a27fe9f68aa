package outside

import (
	"net/http"
	"os/exec"
	"testing"
)

const (
	pocketbaseEmail    = "owner@example.com"
	pocketbasePassword = "correct horse battery"
)

// A PocketBaseServer is an empty PocketBase.
type PocketBaseServer struct {
	Server
	Token string // of a superuser, who may do everything and is never rate limited: Authorization: TOKEN, with or without "Bearer "
}

// PocketBase starts an empty PocketBase, which ends with the test.
//
// Its API: https://pocketbase.io/docs/api-records/. A list is GET /api/collections/NAME/records:
//
//	{"items":[{"collectionId":"pbc_3527180448","collectionName":"orders","created":"2026-12-01 04:23:40.766Z",
//	  "due":"","id":"owonalvvtwvc2tg","meta":{"a":1},"title":"o0","total":12.5,"updated":"2026-12-01 04:23:40.766Z"}],
//	 "page":1,"perPage":2,"totalItems":5,"totalPages":3}
//
// What connectors must stand, as the tests of this file show:
//
//   - perPage is 30 unless it is given, and 1000 when more is asked for, without
//     an error: only "perPage" in the answer says so. perPage=0 is 30.
//   - Pages are numbered from 1. One beyond the last is empty, with status 200.
//     With skipTotal=1 totalItems and totalPages are -1, and the end is a page
//     with less than perPage.
//   - Without sort= the order is nobody's promise, and ids are random: 15 letters
//     and digits, unrelated to time. sort=updated,id is total. Milliseconds tie.
//   - Times are "2026-12-01 04:23:40.766Z": a space where RFC 3339 has a T, always
//     UTC with three digits. A date without a value is "". What is written with an
//     offset is read as UTC.
//   - filter=(updated>='2026-12-01 04:23:40.766Z') compares text. The bound must be
//     spelled as PocketBase does, or be the beginning of that: with a T for the
//     space the rest of that day is silently missing, and with "40Z" for
//     "40.000Z" the rest of that second.
//   - created and updated exist only where the collection has fields of the type
//     autodate, and sorting by a missing one is status 400. They are the
//     server's: whoever writes them is ignored. updated moves with every write, one
//     that changes nothing too.
//   - What is deleted is gone from every list, and status 404 by its id.
//   - To a token that is expired or nonsense, a collection whose listRule asks for a
//     user is not 401 but empty, with status 200: {"items":[],"page":1,"perPage":30,
//     "totalItems":0,"totalPages":0}. Without a listRule (superusers only) it is 403.
//     Ask something that needs no rule to learn whether a token lives:
//     POST /api/collections/users/auth-refresh is 401 then.
//   - Limits are off until the settings have them (LimitRate), never hold for
//     superusers, count by address in windows that begin with the first request, and
//     answer {"data":{},"message":"Too Many Requests.","status":429} without Retry-After.
//   - Errors are {"data":{},"message":"...","status":400}, and say little: a wrong
//     parameter is "Something went wrong while processing your request.".
func PocketBase(tb testing.TB) *PocketBaseServer {
	tb.Helper()
	program := pocketbase.need(tb)
	dir := tb.TempDir()
	flags := []string{"--dir=" + dir + "/data", "--publicDir=" + dir + "/public", "--hooksDir=" + dir + "/hooks", "--migrationsDir=" + dir + "/migrations", "--automigrate=false"}

	// Before it serves: without a superuser it would offer to make one in a browser.
	owner := exec.Command(program, append([]string{"superuser", "upsert", pocketbaseEmail, pocketbasePassword}, flags...)...)
	owner.Dir, owner.Env = dir, environment(dir)
	if out, err := owner.CombinedOutput(); err != nil {
		tb.Fatalf("%s: %v\n%s", owner, err, lastLines(out))
	}

	address := serve(tb, service{name: "pocketbase", dir: dir, health: "/api/health", command: func(address string) *exec.Cmd {
		return exec.Command(program, append([]string{"serve", "--http=" + address}, flags...)...)
	}})
	p := &PocketBaseServer{Server: newServer(tb, address)}
	p.Token = p.Call(tb, "POST", "/api/collections/_superusers/auth-with-password",
		map[string]string{"identity": pocketbaseEmail, "password": pocketbasePassword}).Object(tb).Text("token")
	p.sign = func(req *http.Request) { req.Header.Set("Authorization", p.Token) }
	return p
}

// CreateCollection makes a collection that every user may read, with fields of
// the given types (text, number, bool, json, date ...) and the two times that
// PocketBase no longer adds of itself: created, updated.
func (p *PocketBaseServer) CreateCollection(tb testing.TB, name string, fields map[string]string) {
	tb.Helper()
	all := []map[string]any{
		{"name": "created", "type": "autodate", "onCreate": true},
		{"name": "updated", "type": "autodate", "onCreate": true, "onUpdate": true},
	}
	for field, kind := range fields {
		all = append(all, map[string]any{"name": field, "type": kind})
	}
	signedIn := "@request.auth.id != ''"
	p.Call(tb, "POST", "/api/collections", map[string]any{
		"name": name, "type": "base", "fields": all, "listRule": signedIn, "viewRule": signedIn,
	})
}

// Create adds a record, and returns it as PocketBase does.
func (p *PocketBaseServer) Create(tb testing.TB, collection string, fields map[string]any) Object {
	tb.Helper()
	return p.Call(tb, "POST", "/api/collections/"+collection+"/records", fields).Object(tb)
}

// Update changes fields of a record, and returns it as PocketBase does.
func (p *PocketBaseServer) Update(tb testing.TB, collection, id string, fields map[string]any) Object {
	tb.Helper()
	return p.Call(tb, "PATCH", "/api/collections/"+collection+"/records/"+id, fields).Object(tb)
}

// Delete removes a record. Nothing of it is left to be listed.
func (p *PocketBaseServer) Delete(tb testing.TB, collection, id string) {
	tb.Helper()
	p.Call(tb, "DELETE", "/api/collections/"+collection+"/records/"+id, nil)
}

// User makes a user who is not a superuser, and returns a token that is good
// for an hour. Such users are rate limited.
func (p *PocketBaseServer) User(tb testing.TB, email string) (token string) {
	tb.Helper()
	id := p.Create(tb, "users", map[string]any{"email": email, "password": pocketbasePassword, "passwordConfirm": pocketbasePassword}).Text("id")
	return p.Call(tb, "POST", "/api/collections/users/impersonate/"+id, map[string]any{"duration": 3600}).Object(tb).Text("token")
}

// LimitRate has PocketBase answer 429 to a client that asks for what the label
// names more than so many times within so many seconds. Labels are paths
// ("/api/"), or "orders:list", "*:list" and the like. All counts begin anew.
func (p *PocketBaseServer) LimitRate(tb testing.TB, label string, requests, seconds int) {
	tb.Helper()
	p.Call(tb, "PATCH", "/api/settings", map[string]any{"rateLimits": map[string]any{
		"enabled": true,
		"rules":   []map[string]any{{"label": label, "maxRequests": requests, "duration": seconds, "audience": ""}},
	}})
}
