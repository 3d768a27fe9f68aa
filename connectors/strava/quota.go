package strava

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/syncdhq/syncd"
)

// quota reads what is left of an application's limits: two pairs of headers,
// of all requests and of those that read, each with two numbers, of the 15
// minutes and of the day (https://developers.strava.com/docs/rate-limits/):
//
//	X-RateLimit-Limit: 200,2000
//	X-RateLimit-Usage: 41,112
//	X-ReadRateLimit-Limit: 100,1000
//	X-ReadRateLimit-Usage: 40,110
//
// "An application's 15-minute limit is reset at natural 15-minute intervals
// corresponding to 0, 15, 30 and 45 minutes after the hour. The daily limit
// resets at midnight UTC." A reset at this very moment has happened already. Of
// limits that are used up the one that is reset last counts, of others the one
// of which least is left. What cannot be read is as good as absent.
func quota(h http.Header, now time.Time) syncd.Quota {
	var q syncd.Quota
	for _, kind := range []string{"X-RateLimit", "X-ReadRateLimit"} {
		limits := strings.Split(h.Get(kind+"-Limit"), ",")
		usages := strings.Split(h.Get(kind+"-Usage"), ",")
		for i, window := range []time.Duration{15 * time.Minute, 24 * time.Hour} {
			if i >= len(limits) || i >= len(usages) {
				break
			}
			limit, err1 := strconv.ParseInt(strings.TrimSpace(limits[i]), 10, 64)
			usage, err2 := strconv.ParseInt(strings.TrimSpace(usages[i]), 10, 64)
			if err1 != nil || err2 != nil || limit < 1 || usage < 0 {
				continue
			}
			left := syncd.Quota{Known: true, Left: max(limit-usage, 0), Reset: now.UTC().Truncate(window).Add(window)}
			if tighter(left, q) {
				q = left
			}
		}
	}
	return q
}

// tighter reports whether a holds requests back more than b does.
func tighter(a, b syncd.Quota) bool {
	switch {
	case !b.Known:
		return true
	case a.Left == 0 && b.Left == 0:
		return a.Reset.After(b.Reset)
	}
	return a.Left < b.Left
}
