package transport

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A quota is what an answer says of a rate limit.
type quota struct {
	left    int64         // requests left; -1 where the answer does not say
	reset   time.Duration // until the quota is refilled
	resetOK bool
}

func (q quota) usedUp() bool { return q.left == 0 && q.resetOK }

// ownQuota reads what an answer says of rate limits in the provider's own way;
// nil if there is no such way, or it says nothing.
func (s *Stack) ownQuota(h http.Header, now time.Time) *quota {
	if s.cfg.Quota == nil {
		return nil
	}
	date := answeredAt(h, now)
	q := s.cfg.Quota(h, date)
	if !q.Known {
		return nil
	}
	return &quota{left: max(q.Left, 0), reset: max(q.Reset.Sub(date), 0), resetOK: !q.Reset.IsZero()}
}

// quotaOf reads the rate limit fields of an answer: RateLimit and
// RateLimit-Policy as in draft-ietf-httpapi-ratelimit-headers-10 and, as a
// dictionary, -07; then the separate fields of -06 and before, with and
// without X-. Of several quotas the one that is used up and refilled last
// counts. What cannot be read is as good as absent.
func quotaOf(h http.Header, now time.Time) quota {
	date := answeredAt(h, now)
	if q, ok := draftQuota(h); ok {
		return q
	}
	q := quota{left: -1}
	for _, name := range []string{"RateLimit-Remaining", "X-RateLimit-Remaining", "X-Rate-Limit-Remaining"} {
		if n, ok := count(h.Get(name)); ok {
			q.left = n
			break
		}
	}
	for _, name := range []string{"RateLimit-Reset", "X-RateLimit-Reset-After", "X-RateLimit-Reset", "X-Rate-Limit-Reset"} {
		if d, ok := resetIn(h.Get(name), date); ok {
			q.reset, q.resetOK = d, true
			break
		}
	}
	return q
}

// count reads a number that is not negative; a fraction is cut off.
func count(s string) (int64, bool) {
	whole, _, _ := strings.Cut(strings.TrimSpace(s), ".")
	if !allDigits(whole) {
		return 0, false
	}
	n, err := strconv.ParseInt(whole, 10, 64)
	return n, err == nil
}

// draftQuota reads the RateLimit field. Draft -10 has a list of policies by
// name, each with what is left (r) and the seconds until more is (t), e.g.
//
//	RateLimit: "minute";r=0;t=12, "day";r=400;t=3600
//
// where t is optional and the policy's window (w) bounds it. Draft -07 has
// RateLimit: limit=100, remaining=0, reset=12.
func draftQuota(h http.Header) (quota, bool) {
	field := strings.Join(h.Values("RateLimit"), ",")
	if strings.TrimSpace(field) == "" {
		return quota{}, false
	}
	items, err := parseList(field)
	if err != nil {
		return olderDraftQuota(field)
	}
	best, found := quota{left: -1}, false
	for _, item := range items {
		left, ok := count(item.params["r"])
		if !ok {
			continue
		}
		q := quota{left: left}
		if q.reset, q.resetOK = seconds(item.params["t"]); !q.resetOK {
			q.reset, q.resetOK = window(h, item.value)
		}
		if !found || tighter(q, best) {
			best, found = q, true
		}
	}
	return best, found
}

func olderDraftQuota(field string) (quota, bool) {
	fields, err := parseDictionary(field)
	if err != nil {
		return quota{}, false
	}
	q, found := quota{left: -1}, false
	for _, f := range fields {
		switch f.key {
		case "remaining":
			if n, ok := count(f.value); ok {
				q.left, found = n, true
			}
		case "reset":
			q.reset, q.resetOK = seconds(f.value)
		}
	}
	return q, found
}

// window returns the window of a policy in the RateLimit-Policy field.
func window(h http.Header, policy string) (time.Duration, bool) {
	items, err := parseList(strings.Join(h.Values("RateLimit-Policy"), ","))
	if err != nil {
		return 0, false
	}
	for _, item := range items {
		if item.value == policy {
			return seconds(item.params["w"])
		}
	}
	return 0, false
}

// tighter reports whether a holds requests back more than b does.
func tighter(a, b quota) bool {
	if a.usedUp() != b.usedUp() {
		return a.usedUp()
	}
	if a.usedUp() {
		return a.reset > b.reset
	}
	return a.left < b.left
}
