package strava

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/connectortest"
)

// The suite plays with lists. The one athlete is none; TestAthlete is about it.
func TestSuite(t *testing.T) {
	connectortest.Run(t, connectortest.Subject{
		Connector: Connector(),
		Options:   func() syncd.Options { return &Options{Lookback: 400, Only: []string{"activities"}} },
		Fake:      world,
		Streams:   map[string]connectortest.Facts{"activities": {Mark: connectortest.Unmarked}},
	})
}

// began is when the suite's nth item took place: every second day.
func began(n int64) time.Time {
	return time.Date(2010, 1, 1, 6, 30, 0, 0, time.UTC).AddDate(0, 0, int(2*n))
}

// world serves the suite's items as Strava does: what started after a time,
// oldest first, in numbered pages.
func world(w *connectortest.World) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v3/athlete/activities", func(rw http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		after, err1 := strconv.ParseInt(q.Get("after"), 10, 64)
		number, err2 := strconv.Atoi(q.Get("page"))
		if err1 != nil || err2 != nil || after >= w.Now().Unix() {
			rw.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(rw, `{"message":"Bad Request","errors":[{"resource":"Application","field":"after","code":"future"}]}`)
			return
		}
		items := slices.DeleteFunc(w.Items("activities", ""), func(it connectortest.Item) bool { return began(it.N).Unix() <= after })
		size := w.Limit(q.Get("per_page"))
		page, _ := connectortest.Cut(items, (number-1)*size, size)
		fmt.Fprint(rw, w.Elements(page, func(it connectortest.Item) string {
			return fmt.Sprintf(`{"id": %s, "name": "Run %d", "upload_id": %s, "start_date": %q}`, it.ID, it.Rev, it.ID, began(it.N).Format(time.RFC3339))
		}))
	})
	return mux
}
