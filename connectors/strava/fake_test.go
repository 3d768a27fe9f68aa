package strava

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/connectortest"
	"github.com/syncdhq/syncd/internal/cursor"
)

// today is Strava's clock in these tests.
var today = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// open returns the streams over a handler that answers for Strava.
func open(t *testing.T, o *Options, h http.HandlerFunc) map[string]syncd.Stream {
	t.Helper()
	return connectortest.Open(t, Connector().BaseURL, o, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", today.Format(http.TimeFormat))
		h(w, r)
	}))
}

// An account is the starts of activities by id, of which pages of size are
// listed: by start, newest first where backwards is set. after is held against
// the time where they took place, which is ahead of UTC.
type account struct {
	starts    map[int]time.Time
	size      int
	backwards bool
	ahead     time.Duration
	asked     []string
	before    func(n int) // the n-th request is answered, from 1
}

func (a *account) serve(w http.ResponseWriter, r *http.Request) {
	a.asked = append(a.asked, r.URL.RequestURI())
	if a.before != nil {
		a.before(len(a.asked))
	}
	after, _ := strconv.ParseInt(r.URL.Query().Get("after"), 10, 64)
	number, _ := strconv.Atoi(r.URL.Query().Get("page"))
	if after > today.Unix() {
		w.WriteHeader(400)
		return
	}
	var ids []int
	for id, start := range a.starts {
		if start.Add(a.ahead).Unix() > after {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(x, y int) int {
		c := a.starts[x].Compare(a.starts[y])
		if c == 0 {
			c = x - y
		}
		if a.backwards {
			c = -c
		}
		return c
	})
	lo, hi := min((number-1)*a.size, len(ids)), min(number*a.size, len(ids))
	var texts []string
	for _, id := range ids[lo:hi] {
		texts = append(texts, fmt.Sprintf(`{"id":%d,"start_date":%q}`, id, a.starts[id].Format(time.RFC3339)))
	}
	fmt.Fprintf(w, "[%s]", strings.Join(texts, ","))
}

// walk reads the list to its end and returns how often each id came, and the
// token for the next walk.
func walk(t *testing.T, s syncd.Stream, sync string) (map[string]int, string) {
	t.Helper()
	seen := map[string]int{}
	guard := cursor.NewGuard() // as the engine has it
	req := syncd.Request{Sync: sync}
	for range 100 {
		page, err := s.Fetch(t.Context(), req)
		if err == nil {
			err = cmp.Or(guard.Request(req), guard.Page(req, page))
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.Records {
			if r.Err != nil || r.Mark != 0 {
				t.Errorf("record %q with mark %d: %v", r.ID, r.Mark, r.Err)
			}
			seen[r.ID]++
		}
		if page.Next == "" {
			return seen, page.Sync
		}
		req.Page = page.Next
	}
	t.Fatal("the walk does not end")
	return nil, ""
}

func days(n int) time.Time { return today.AddDate(0, 0, n) }
