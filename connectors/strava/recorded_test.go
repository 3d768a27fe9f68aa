package strava

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/casebook"
)

func shared(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(casebook.Shared(t, "data", "strava-stravalib", name))
	if err != nil {
		t.Fatal(err)
	}
	return []byte(strings.TrimSpace(string(text)))
}

// Recorded activities arrive whole and byte for byte.
func TestRecordedActivities(t *testing.T) {
	want := []string{string(shared(t, "activity-manual.3.json")), string(shared(t, "activity.3.json"))}
	s := open(t, &Options{}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("page") == "1" && r.URL.Query().Get("after") == "1" {
			fmt.Fprintf(w, "[\n%s,\n%s]", want[0], want[1])
			return
		}
		io.WriteString(w, "[]")
	})["activities"]
	page, err := s.Fetch(t.Context(), syncd.Request{})
	if err != nil || len(page.Records) != 2 {
		t.Fatalf("%d records, %v", len(page.Records), err)
	}
	for i, id := range []string{"96089609", "99895560"} {
		if r := page.Records[i]; r.Err != nil || r.ID != id || r.Mark != 0 || string(r.Data) != want[i] {
			t.Errorf("record %d: %q at %d, %v; want %q without a mark", i, r.ID, r.Mark, r.Err, id)
		}
	}
	if seen, sync := walk(t, s, ""); len(seen) != 2 || sync != "1386877001" { // 2013-12-12T19:36:41Z
		t.Errorf("got %v and the token %s", seen, sync)
	}
}

func TestAthlete(t *testing.T) {
	for name, want := range map[string]struct{ id, updated string }{
		"athlete.2.json": {"227615", "2013-01-08T19:08:21Z"},
		"athlete.3.json": {"1513", "2013-12-18T01:24:27Z"},
	} {
		body := shared(t, name)
		s := open(t, &Options{}, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.RequestURI() != "/api/v3/athlete" {
				t.Errorf("asked for %s", r.URL)
			}
			w.Write(append([]byte("\ufeff"), body...))
		})["athlete"]
		page, err := s.Fetch(t.Context(), syncd.Request{})
		if err != nil || len(page.Records) != 1 || page.Next != "" || page.Sync != "" {
			t.Fatalf("%s: got %+v, %v", name, page, err)
		}
		if r := page.Records[0]; r.Err != nil || r.ID != want.id || r.Mark.Format(false) != want.updated || string(r.Data) != string(body) {
			t.Errorf("%s: got %s at %s, %v; want %+v", name, r.ID, r.Mark.Format(false), r.Err, want)
		}
		if again, err := s.Replay(t.Context(), body); err != nil || !cmp.Equal(again, page.Records[0]) {
			t.Errorf("%s: tried again it is %+v, %v", name, again, err)
		}
	}
}
