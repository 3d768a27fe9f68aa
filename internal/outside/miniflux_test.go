package outside

import (
	"encoding/base64"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/syncdhq/syncd/internal/pgtest"
)

// column returns one member of each object.
func column(objects []Object, name string) []string {
	var all []string
	for _, o := range objects {
		all = append(all, o.Text(name))
	}
	return all
}

func wantTexts(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func feedItems() []Item {
	day := time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)
	return []Item{
		{"a", "first", "<p>one</p>", day},
		{"b", "second", "two", day.Add(time.Hour)},
		{"c", "third", "three", day.Add(2 * time.Hour)},
	}
}

func TestMiniflux(t *testing.T) {
	t.Parallel()
	m := Miniflux(t, pgtest.Database(t))
	items := feedItems()
	f := Feed(t, items[:2]...)
	feed := m.AddFeed(t, f.URL)
	byID := "order=id&direction=asc"
	wantTexts(t, "entries of a new feed", column(m.Entries(t, byID), "title"), "second", "first") // newest first gets the lowest id

	f.Set(items...)
	m.Refresh(t, feed)
	before := m.Entries(t, byID)
	wantTexts(t, "entries after one more", column(before, "title"), "second", "first", "third")

	// What a feed changes is stored, and changed_at does not say so.
	items[0].Title = "first, corrected"
	f.Set(items...)
	m.Refresh(t, feed)
	after := m.Entries(t, byID)
	wantTexts(t, "entries after a correction", column(after, "title"), "second", "first, corrected", "third")
	wantTexts(t, "changed_at after a correction", column(after, "changed_at"), column(before, "changed_at")...)
	// And each entry carries its feed, with the time at which that was read.
	if string(before[0]["feed"]) == string(after[0]["feed"]) {
		t.Error("an entry that did not change is the same after a refresh now")
	}

	byHand := m.Call(t, "PUT", "/v1/entries/3", map[string]any{"title": "third, corrected"}).Object(t)
	wantTexts(t, "a correction by hand", []string{byHand.Text("title"), byHand.Text("changed_at")}, "third, corrected", before[2].Text("changed_at"))

	// What a reader changes has one time for all.
	m.Mark(t, "read", 1, 2)
	marked := m.Entries(t, "status=read&"+byID)
	wantTexts(t, "entries that are read", column(marked, "id"), "1", "2")
	if a, b := marked[0].Text("changed_at"), marked[1].Text("changed_at"); a != b || a == before[0].Text("changed_at") {
		t.Errorf("changed_at of two that were read at once: got %s and %s", a, b)
	}

	// There is no status "removed": what is deleted is gone, and does not come back.
	removed := m.Ask(t, "PUT", "/v1/entries", map[string]any{"entry_ids": []int{1}, "status": "removed"})
	if got, want := removed.Status, 400; got != want {
		t.Errorf("mark an entry removed: got status %d, want %d", got, want)
	}
	m.FlushRead(t)
	m.Refresh(t, feed)
	wantTexts(t, "entries after the deletion", column(m.Entries(t, byID), "id"), "3")
	if got, want := m.Ask(t, "GET", "/v1/entries/1", nil).Status, 404; got != want {
		t.Errorf("status of what is deleted: got %d, want %d", got, want)
	}
	m.Delete(t, feed)
	wantTexts(t, "entries after the feed was deleted", column(m.Entries(t, byID), "title"))
}

func TestMinifluxParameters(t *testing.T) {
	t.Parallel()
	m := Miniflux(t, pgtest.Database(t))
	m.AddFeed(t, Feed(t, feedItems()...).URL)
	all := m.Entries(t, "order=id")
	changed, err := time.Parse(time.RFC3339Nano, all[2].Text("changed_at"))
	if err != nil {
		t.Fatal(err)
	}
	second := func(add int64) string { return strconv.FormatInt(changed.Unix()+add, 10) }
	for _, test := range []struct {
		query string
		want  []string
	}{
		{"", []string{"3", "2", "1"}}, // published_at, ascending
		{"order=id", []string{"1", "2", "3"}},
		{"order=id&direction=desc", []string{"3", "2", "1"}},
		{"order=id&limit=2", []string{"1", "2"}},
		{"order=id&limit=2&offset=2", []string{"3"}},
		{"order=id&limit=2&offset=4", nil},
		{"order=id&limit=0", []string{"1", "2", "3"}}, // 1000
		{"order=id&after_entry_id=1", []string{"2", "3"}},
		{"order=id&after_entry_id=x", []string{"1", "2", "3"}},
		{"order=id&changed_after=" + second(-60), []string{"1", "2", "3"}},
		{"order=id&changed_after=" + second(60), nil},
		{"order=id&changed_after=2026-01-01T00:00:00Z", []string{"1", "2", "3"}}, // ignored
		{"order=id&changed_after=4000000000.5", []string{"1", "2", "3"}},         // ignored
	} {
		wantTexts(t, test.query, column(m.Entries(t, test.query), "id"), test.want...)
	}
	page := m.Call(t, "GET", "/v1/entries?limit=1&offset=7", nil).Object(t)
	if got, want := page.Text("total"), "3"; got != want {
		t.Errorf("total beyond the end: got %s, want %s", got, want)
	}
	for _, query := range []string{"limit=1001", "order=updated", "direction=up", "status=removed"} {
		if got, want := m.Ask(t, "GET", "/v1/entries?"+query, nil).Status, 400; got != want {
			t.Errorf("%s: got status %d, want %d", query, got, want)
		}
	}
}

func TestMinifluxAuth(t *testing.T) {
	t.Parallel()
	m := Miniflux(t, pgtest.Database(t))
	for _, test := range []struct {
		name, value string
		want        int
	}{
		{"X-Auth-Token", m.Token, 200},
		{"X-Auth-Token", "nonsense", 401},
		{"Authorization", "Bearer " + m.Token, 401},
		{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte(m.Username+":"+m.Password)), 200},
		{"Authorization", "Basic nonsense", 401},
	} {
		if got := m.AskAs(t, test.name, test.value, "GET", "/v1/me", nil).Status; got != test.want {
			t.Errorf("%s: %s: got status %d, want %d", test.name, test.value, got, test.want)
		}
	}
}
