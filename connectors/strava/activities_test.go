package strava

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/connectortest"
)

func TestRequests(t *testing.T) {
	a := &account{size: 200, starts: map[int]time.Time{1: days(-40), 2: days(-9), 3: days(-1)}}
	s := open(t, &Options{Lookback: 30}, a.serve)["activities"]
	seen, sync := walk(t, s, "")
	if want := strconv.FormatInt(days(-1).Unix(), 10); len(seen) != 3 || sync != want {
		t.Fatalf("got %v and the token %s, want 3 records and %s", seen, sync, want)
	}
	if seen, _ := walk(t, s, sync); !cmp.Equal(seen, map[string]int{"2": 1, "3": 2}) {
		t.Errorf("the next walk listed %v", seen)
	}
	const base = "/api/v3/athlete/activities?after="
	from := func(start time.Time, number int) string {
		return fmt.Sprintf("%s%d&page=%d&per_page=200", base, start.Unix(), number)
	}
	want := []string{
		base + "1&page=1&per_page=200", from(days(-2), 1), from(days(-2), 2),
		from(days(-31).Add(-time.Second), 1), from(days(-2), 1), from(days(-2), 2),
	}
	if diff := cmp.Diff(want, a.asked); diff != "" {
		t.Error(diff)
	}
}

// What is asked for twice is answered alike.
func TestFetchIsRepeatable(t *testing.T) {
	a := &account{size: 2, starts: map[int]time.Time{1: days(-40), 2: days(-9), 3: days(-1)}}
	s := open(t, &Options{Lookback: 30}, a.serve)["activities"]
	for _, req := range []syncd.Request{{}, {Sync: "1780000000"}, {Sync: "1780000000", Page: `{"after":5,"page":2,"newest":7}`}} {
		first, err1 := s.Fetch(t.Context(), req)
		again, err2 := s.Fetch(t.Context(), req)
		if diff := cmp.Diff(first, again); diff != "" || err1 != nil || err2 != nil {
			t.Errorf("%+v: %v, %v\n%s", req, err1, err2, diff)
		}
	}
}

// More activities than a page holds began at one time, and on one day.
func TestTies(t *testing.T) {
	for name, step := range map[string]time.Duration{"one moment": 0, "one day": time.Hour} {
		a := &account{size: 3, starts: map[int]time.Time{1: days(-40)}}
		for id := 2; id <= 9; id++ {
			a.starts[id] = days(-9).Add(time.Duration(id) * step)
		}
		a.starts[10] = days(-2)
		if seen, _ := walk(t, open(t, &Options{}, a.serve)["activities"], ""); len(seen) != 10 {
			t.Errorf("%s: got %v, want all 10", name, seen)
		}
	}
}

// Whether after is held against the time in UTC or where an activity took place,
// all are listed, no page comes twice, and the next walk finds a new one.
func TestLocalTime(t *testing.T) {
	for ahead := -12; ahead <= 14; ahead++ {
		a := &account{size: 3, ahead: time.Duration(ahead) * time.Hour, starts: map[int]time.Time{}}
		for id := 1; id <= 20; id++ {
			a.starts[id] = days(-40).Add(time.Duration(id) * 13 * time.Hour)
		}
		s := open(t, &Options{Lookback: 0}, a.serve)["activities"]
		seen, sync := walk(t, s, "")
		if len(seen) != 20 {
			t.Errorf("%d hours ahead: got %v, want all 20", ahead, seen)
		}
		a.starts[21] = a.starts[20].Add(2 * time.Hour)
		if seen, _ := walk(t, s, sync); seen["21"] == 0 {
			t.Errorf("%d hours ahead: the next walk listed %v, and not the new one", ahead, seen)
		}
	}
}

// Activities on pages that were read are deleted, one before each request.
func TestDeletionsWhileItIsRead(t *testing.T) {
	a := &account{size: 3, starts: map[int]time.Time{}}
	for id := 1; id <= 20; id++ {
		a.starts[id] = days(3*id - 100)
	}
	a.before = func(n int) {
		if n > 1 && n < 6 {
			delete(a.starts, n-1)
		}
	}
	if seen, _ := walk(t, open(t, &Options{}, a.serve)["activities"], ""); len(seen) != 20 {
		t.Errorf("got %v, want all 20", seen)
	}
}

// An order that is not oldest first is followed by its page numbers.
func TestNewestFirst(t *testing.T) {
	a := &account{size: 3, starts: map[int]time.Time{}, backwards: true}
	for id := 1; id <= 20; id++ {
		a.starts[id] = days(-3 * id)
	}
	if seen, sync := walk(t, open(t, &Options{}, a.serve)["activities"], ""); len(seen) != 20 || sync != strconv.FormatInt(days(-3).Unix(), 10) {
		t.Errorf("got %v and the token %s, want all 20", seen, sync)
	}
}

// A page may have fewer elements than were asked for, and not be the last.
func TestShortPages(t *testing.T) {
	pages := map[string]string{
		"1": `[{"id":1,"start_date":"2026-05-30T08:00:00Z"}]`,
		"2": `[{"id":2,"start_date":"2026-05-30T09:00:00Z"},{"id":3,"start_date":"2026-05-30T09:30:00Z"}]`,
	}
	s := open(t, &Options{}, func(w http.ResponseWriter, r *http.Request) {
		body, ok := pages[r.URL.Query().Get("page")]
		if !ok {
			body = "[]"
		}
		io.WriteString(w, body)
	})["activities"]
	if seen, _ := walk(t, s, ""); len(seen) != 3 {
		t.Errorf("got %v, want all 3", seen)
	}
}

// An activity of the future, by a watch that went wrong, moves nothing beyond
// Strava's clock, where new ones would not be asked for.
func TestTheFuture(t *testing.T) {
	a := &account{size: 2, starts: map[int]time.Time{1: days(-40), 2: days(-9), 3: days(300), 4: days(301), 5: days(302)}}
	s := open(t, &Options{Lookback: 0}, a.serve)["activities"]
	seen, sync := walk(t, s, "")
	if len(seen) != 5 || sync != strconv.FormatInt(today.Unix(), 10) {
		t.Fatalf("got %v and the token %s, want all 5 and %d", seen, sync, today.Unix())
	}
	a.starts[6] = today
	if seen, _ := walk(t, s, sync); seen["6"] == 0 {
		t.Errorf("the next walk listed %v, and not the new one", seen)
	}
}

// What was uploaded late, or was changed, is found as far back as lookback says.
func TestLookback(t *testing.T) {
	a := &account{size: 200, starts: map[int]time.Time{1: days(-2)}}
	s := open(t, &Options{Lookback: 10}, a.serve)["activities"]
	_, sync := walk(t, s, "")
	a.starts[2] = days(-12) // at the bound itself
	a.starts[3] = days(-12).Add(-2 * time.Second)
	seen, again := walk(t, s, sync)
	if seen["1"] == 0 || seen["2"] == 0 || seen["3"] != 0 || again != sync {
		t.Errorf("got %v and the token %s, want 1 and 2, and %s", seen, again, sync)
	}
	delete(a.starts, 1)
	if _, again := walk(t, s, sync); again != sync {
		t.Errorf("the token went back from %s to %s", sync, again)
	}
	if seen, sync := walk(t, s, ""); len(seen) != 2 || sync == again {
		t.Errorf("a full walk got %v and the token %s", seen, sync)
	}
	a.starts = nil
	if seen, sync := walk(t, s, ""); len(seen) != 0 || sync != "" {
		t.Errorf("nothing there: got %v and the token %q", seen, sync)
	}
}

// A bad element costs itself alone.
func TestPoison(t *testing.T) {
	s := open(t, &Options{}, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `[{"id":9007199254740993,"upload_id":9007199254740995,"start_date":"2026-05-01T08:00:00Z"},
			null, {"id":1.5}, {"id":3,"start_date":"yesterday"}, {"start_date":"2026-05-02T08:00:00Z"}, {"id":4,"start_date":null},
			{"id":5,"start_date":"2026-05-03T08:00:00Z"}]`)
	})["activities"]
	page, err := s.Fetch(t.Context(), syncd.Request{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range page.Records {
		got = append(got, fmt.Sprintf("%s %v", r.ID, r.Err != nil))
	}
	if want := []string{"9007199254740993 false", " true", " true", " true", " false", "4 false", "5 false"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if want := fmt.Sprintf(`{"after":%d,"page":1,"newest":%d}`, today.AddDate(0, 0, -30).Add(-4*time.Hour).Unix(), today.AddDate(0, 0, -29).Add(-4*time.Hour).Unix()); page.Next != want {
		t.Errorf("the next page is %s, want %s", page.Next, want)
	}
}

func TestNoDate(t *testing.T) {
	s := connectortest.Open(t, Connector().BaseURL, &Options{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "[]")
	}))["activities"]
	if page, err := s.Fetch(t.Context(), syncd.Request{}); err == nil || !strings.Contains(err.Error(), "does not say when") {
		t.Errorf("got %+v, %v", page, err)
	}
}

func TestBadTokens(t *testing.T) {
	s := open(t, &Options{}, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "[]") })["activities"]
	if _, err := s.Fetch(t.Context(), syncd.Request{Sync: "x"}); !errors.Is(err, syncd.ErrResync) {
		t.Errorf("got %v, want ErrResync", err)
	}
	if _, err := s.Fetch(t.Context(), syncd.Request{Page: "x"}); err == nil || !strings.Contains(err.Error(), "page token") {
		t.Errorf("got %v", err)
	}
}
