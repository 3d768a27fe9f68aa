package strava

import (
	"encoding/json"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/casebook"
)

func TestQuotaTable(t *testing.T) {
	text, err := os.ReadFile(casebook.Shared(t, "faults", "cases", "strava_window_table.json"))
	if err != nil {
		t.Fatal(err)
	}
	var table struct {
		Rows []struct {
			Now   time.Time
			Usage string    `json:"x_ratelimit_usage"`
			Limit string    `json:"x_ratelimit_limit"`
			Next  time.Time `json:"next_allowed_utc"`
		}
	}
	if err := json.Unmarshal(text, &table); err != nil || len(table.Rows) == 0 {
		t.Fatalf("%d rows, %v", len(table.Rows), err)
	}
	for i, row := range table.Rows {
		q := quota(headers(row.Limit, row.Usage, "", ""), row.Now)
		next := row.Now
		if q.Left == 0 {
			next = q.Reset
		}
		if !q.Known || !next.Equal(row.Next) {
			t.Errorf("row %d: got %+v, next %s, want %s", i, q, next, row.Next)
		}
	}
}

func headers(limit, usage, readLimit, readUsage string) http.Header {
	h := http.Header{}
	for name, value := range map[string]string{
		"X-RateLimit-Limit": limit, "X-RateLimit-Usage": usage,
		"X-ReadRateLimit-Limit": readLimit, "X-ReadRateLimit-Usage": readUsage,
	} {
		if value != "" {
			h.Set(name, value)
		}
	}
	return h
}

func TestQuota(t *testing.T) {
	now := time.Date(2026, 6, 1, 21, 10, 30, 5e8, time.FixedZone("", 5*3600+1800)) // 15:40:30.5 UTC
	quarter := time.Date(2026, 6, 1, 15, 45, 0, 0, time.UTC)
	midnight := time.Date(2026, 6, 2, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		limit, usage, readLimit, readUsage string
		want                               syncd.Quota
	}{
		"plenty":                   {"200,2000", "41,112", "100,1000", "40,110", syncd.Quota{Known: true, Left: 60, Reset: quarter}},
		"reads used up":            {"200,2000", "101,112", "100,1000", "100,110", syncd.Quota{Known: true, Reset: quarter}},
		"reads of the day used up": {"200,2000", "101,1112", "100,1000", "4,1003", syncd.Quota{Known: true, Reset: midnight}},
		"all of both used up":      {"200,2000", "200,2001", "100,1000", "100,1000", syncd.Quota{Known: true, Reset: midnight}},
		"little of the day left":   {"200,2000", "1,1998", "100,1000", "1,900", syncd.Quota{Known: true, Left: 2, Reset: midnight}},
		"spaces":                   {"200, 2000", " 200 , 300", "", "", syncd.Quota{Known: true, Reset: quarter}},
		"of 15 minutes alone":      {"200", "200", "", "", syncd.Quota{Known: true, Reset: quarter}},
		"no usage":                 {"200,2000", "", "", "", syncd.Quota{}},
		"nothing":                  {"", "", "", "", syncd.Quota{}},
		"not numbers":              {"a,b", "c,d", "1e3,", "-1,5", syncd.Quota{}},
		"limits of nothing":        {"0,0", "0,0", "", "", syncd.Quota{}},
		"half of it is numbers":    {"x,2000", "9,2000", "", "", syncd.Quota{Known: true, Reset: midnight}},
	} {
		if got := quota(headers(c.limit, c.usage, c.readLimit, c.readUsage), now); got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
}
