package outside

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

const pocketbaseTime = "2006-01-02 15:04:05.000Z"

func TestPocketBase(t *testing.T) {
	t.Parallel()
	p := PocketBase(t)
	p.CreateCollection(t, "orders", map[string]string{"title": "text", "total": "number", "due": "date"})
	list := func(query string) []Object {
		t.Helper()
		return p.Call(t, "GET", "/api/collections/orders/records?"+query, nil).Object(t).Objects(t, "items")
	}

	made := p.Create(t, "orders", map[string]any{"title": "chairs", "total": 12.5, "due": "2026-03-01T10:00:00+02:00"})
	id := made.Text("id")
	if got, want := made.Text("due"), "2026-03-01 08:00:00.000Z"; got != want {
		t.Errorf("a date: got %q, want %q", got, want)
	}
	updated, err := time.Parse(pocketbaseTime, made.Text("updated"))
	if err != nil {
		t.Errorf("updated: %v", err)
	}
	if _, err := time.Parse(time.RFC3339, made.Text("updated")); err == nil {
		t.Errorf("updated: %q is RFC 3339 now", made.Text("updated"))
	}

	changed := p.Update(t, "orders", id, map[string]any{"title": "tables", "updated": "2020-01-01 00:00:00.000Z"})
	if got, want := changed.Text("title"), "tables"; got != want {
		t.Errorf("title after the change: got %q, want %q", got, want)
	}
	again, err := time.Parse(pocketbaseTime, changed.Text("updated"))
	if err != nil || !again.After(updated) {
		t.Errorf("updated after the change: got %s, want one after %s (%v)", again, updated, err)
	}
	same := p.Update(t, "orders", id, map[string]any{"title": "tables"})
	if same.Text("updated") == changed.Text("updated") {
		t.Error("updated stays when nothing changes now")
	}

	if got := list(""); len(got) != 1 || got[0].Text("id") != id {
		t.Errorf("listed: got %v, want %s", got, id)
	}
	p.Delete(t, "orders", id)
	if got := list(""); len(got) != 0 {
		t.Errorf("listed after the deletion: got %v", got)
	}
	if got, want := p.Ask(t, "GET", "/api/collections/orders/records/"+id, nil).Status, 404; got != want {
		t.Errorf("status of what is deleted: got %d, want %d", got, want)
	}
}

func TestPocketBasePages(t *testing.T) {
	t.Parallel()
	p := PocketBase(t)
	p.CreateCollection(t, "orders", nil)
	const records = 1003
	var inOrder []string
	for range records {
		inOrder = append(inOrder, p.Create(t, "orders", nil).Text("id"))
	}
	if slices.IsSorted(inOrder) {
		t.Error("ids are in the order of creation now")
	}
	for _, test := range []struct {
		query             string
		perPage, items    int
		total, totalPages string
	}{
		{"", 30, 30, "1003", "34"},
		{"perPage=0", 30, 30, "1003", "34"},
		{"perPage=500&page=3", 500, 3, "1003", "3"},
		{"perPage=5000", 1000, 1000, "1003", "2"}, // and not a word about it
		{"perPage=500&page=4", 500, 0, "1003", "3"},
		{"perPage=500&skipTotal=1", 500, 500, "-1", "-1"},
	} {
		page := p.Call(t, "GET", "/api/collections/orders/records?sort=updated,id&"+test.query, nil).Object(t)
		got := fmt.Sprint(page.Text("perPage"), len(page.Objects(t, "items")), page.Text("totalItems"), page.Text("totalPages"))
		want := fmt.Sprint(fmt.Sprint(test.perPage), test.items, test.total, test.totalPages)
		if got != want {
			t.Errorf("%q: perPage, items, totalItems, totalPages: got %s, want %s", test.query, got, want)
		}
	}
}

// Bounds are compared as text.
func TestPocketBaseFilter(t *testing.T) {
	t.Parallel()
	p := PocketBase(t)
	p.CreateCollection(t, "orders", nil)
	made := p.Create(t, "orders", nil).Text("updated") // 2026-12-01 04:23:40.766Z
	seconds, _, _ := strings.Cut(made, ".")
	for _, test := range []struct {
		bound string
		found int
	}{
		{made, 1},
		{seconds, 1},
		{made[:10], 1},
		{strings.Replace(made, " ", "T", 1), 0}, // a T is after any space: the rest of the day is lost
		{made[:10] + "T00:00:00Z", 0},
		{seconds + "Z", 0}, // a Z is after any dot: the rest of the second is lost
	} {
		query := url.Values{"filter": {"(updated>='" + test.bound + "')"}, "sort": {"updated,id"}}
		items := p.Call(t, "GET", "/api/collections/orders/records?"+query.Encode(), nil).Object(t).Objects(t, "items")
		if got := len(items); got != test.found {
			t.Errorf("updated >= %q, updated is %q: got %d records, want %d", test.bound, made, got, test.found)
		}
	}
	for _, query := range []string{"sort=nothing", "filter=(nothing='1')", "perPage=x"} {
		if got, want := p.Ask(t, "GET", "/api/collections/orders/records?"+query, nil).Status, 400; got != want {
			t.Errorf("%s: got status %d, want %d", query, got, want)
		}
	}

	// A collection made without the autodate fields has no times to sort or filter by.
	p.Call(t, "POST", "/api/collections", map[string]any{"name": "bare", "type": "base"})
	if got := p.Create(t, "bare", nil).Text("updated"); got != "" {
		t.Errorf("updated of a record without the field: %q", got)
	}
	if got, want := p.Ask(t, "GET", "/api/collections/bare/records?sort=updated", nil).Status, 400; got != want {
		t.Errorf("sort by a time that is not there: got status %d, want %d", got, want)
	}
}

// Who may not list sees an empty list.
func TestPocketBaseAuth(t *testing.T) {
	t.Parallel()
	p := PocketBase(t)
	p.CreateCollection(t, "orders", nil)
	p.Call(t, "POST", "/api/collections", map[string]any{"name": "secrets", "type": "base"}) // no rule: for superusers
	p.Create(t, "orders", nil)
	user := p.User(t, "user@example.com")
	for _, test := range []struct {
		who, token, collection string
		status, items          int
	}{
		{"superuser", p.Token, "orders", 200, 1},
		{"user", user, "orders", 200, 1},
		{"user", user, "secrets", 403, 0},
		{"expired token", "Bearer nonsense", "orders", 200, 0},
		{"expired token", "Bearer nonsense", "secrets", 403, 0},
		{"superuser", "Bearer " + p.Token, "nothing", 404, 0},
	} {
		answer := p.AskAs(t, "Authorization", test.token, "GET", "/api/collections/"+test.collection+"/records", nil)
		items := 0
		if answer.Status == 200 {
			items = len(answer.Object(t).Objects(t, "items"))
		}
		if answer.Status != test.status || items != test.items {
			t.Errorf("%s lists %s: got status %d and %d items, want %d and %d", test.who, test.collection, answer.Status, items, test.status, test.items)
		}
	}
	// This is how one learns whether a token lives.
	for token, want := range map[string]int{user: 200, "nonsense": 401} {
		if got := p.AskAs(t, "Authorization", token, "POST", "/api/collections/users/auth-refresh", nil).Status; got != want {
			t.Errorf("auth-refresh: got status %d, want %d", got, want)
		}
	}
}

func TestPocketBaseRateLimit(t *testing.T) {
	t.Parallel()
	p := PocketBase(t)
	p.CreateCollection(t, "orders", nil)
	user := p.User(t, "user@example.com")
	p.LimitRate(t, "orders:list", 2, 3600)
	var got []int
	for range 3 {
		answer := p.AskAs(t, "Authorization", user, "GET", "/api/collections/orders/records", nil)
		got = append(got, answer.Status)
		if retry := answer.Header.Get("Retry-After"); retry != "" {
			t.Errorf("Retry-After: got %q, and PocketBase had none", retry)
		}
	}
	if want := []int{200, 200, 429}; !slices.Equal(got, want) {
		t.Errorf("a user: got %v, want %v", got, want)
	}
	for range 3 {
		p.Call(t, "GET", "/api/collections/orders/records", nil) // superusers are not limited
	}
}
