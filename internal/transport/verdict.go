package transport

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// An outcome is what an answer, or the lack of one, means for its request.
type outcome int

const (
	settled outcome = iota // it is the answer, good or bad
	failed                 // another attempt may do better
	limited                // a rate limit: nothing is wrong but the time
)

// A verdict is what is to be made of an answer.
type verdict struct {
	outcome outcome
	told    time.Duration // the provider asks to wait so long; 0 if it does not say
	quiet   time.Duration // of a settled answer: no quota is left for so long
	why     string        // in words, of what is not settled
}

// An answer is what the rules look at.
type answer struct {
	status    int
	header    http.Header
	body      []byte // of an answer that is refused, or of a whole one; may be cut
	now       time.Time
	own       *quota // told in the provider's own way
	throttled bool   // the classifier says so
	secondary int    // how many secondary limits the request has met before
}

// secondaryWait is the least time to wait for a secondary limit without a
// Retry-After, doubled each time it is met again (GitHub, "Rate limits for the
// REST API", "Exceeding the rate limit").
const secondaryWait = time.Minute

// judge says what an answer means.
//
//   - 429, 403 with a used-up quota or a Retry-After, a secondary limit's
//     message, throttling reported inside a good answer: limited.
//   - 408, 425 and all of 500 and above but 501: failed. Providers and proxies
//     use numbers beyond 599 (520, 999) for troubles of the moment.
//   - everything else: settled.
func judge(a answer) verdict {
	q := quotaOf(a.header, a.now)
	if a.own != nil {
		q = *a.own
	}
	after, afterOK := retryAfter(a.header.Get("Retry-After"), answeredAt(a.header, a.now))
	why := fmt.Sprintf("%d %s", a.status, http.StatusText(a.status))
	secondary := (a.status == 403 || a.status == 429) && isSecondary(a.body)
	switch {
	case a.status == 429, a.throttled, secondary, a.status == 403 && (afterOK || q.usedUp()):
		v := verdict{outcome: limited, why: why + ": rate limited"}
		switch {
		case afterOK:
			v.told = after
		case q.resetOK && q.left <= 0:
			v.told = q.reset
		case secondary:
			v.told = min(secondaryWait<<min(a.secondary, 12), ceiling)
		}
		if secondary {
			v.why = why + ": secondary rate limit"
		}
		return v
	case a.status == 408, a.status == 425, a.status >= 500 && a.status != 501:
		return verdict{outcome: failed, told: after, why: why}
	case q.usedUp():
		return verdict{quiet: q.reset}
	}
	return verdict{}
}

// isSecondary reports whether a refusal's body names GitHub's secondary limit,
// which it once called abuse detection.
func isSecondary(body []byte) bool {
	body = bytes.ToLower(body[:min(len(body), 8<<10)])
	return bytes.Contains(body, []byte("secondary rate limit")) || bytes.Contains(body, []byte("abuse detection mechanism"))
}

// isThrottledGraphQL reports whether a GraphQL answer says in its errors that
// the query was not answered because of a rate limit: extensions.code
// THROTTLED (Shopify), type or extensions.code RATE_LIMITED (GitHub and others).
func isThrottledGraphQL(body []byte) bool {
	if !bytes.Contains(body, []byte(`"THROTTLED"`)) && !bytes.Contains(body, []byte(`"RATE_LIMITED"`)) {
		return false // almost every answer: not worth decoding
	}
	var reply struct {
		Errors []struct {
			Type       string `json:"type"`
			Extensions struct {
				Code string `json:"code"`
			} `json:"extensions"`
		} `json:"errors"`
	}
	// A field of another type leaves the others decoded, and of a body that is
	// not JSON nothing is.
	_ = json.Unmarshal(bytes.TrimPrefix(body, utf8BOM), &reply)
	for _, e := range reply.Errors {
		for _, code := range []string{e.Type, e.Extensions.Code} {
			if code == "THROTTLED" || code == "RATE_LIMITED" {
				return true
			}
		}
	}
	return false
}
