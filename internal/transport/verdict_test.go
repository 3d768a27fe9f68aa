package transport

import (
	"net/http"
	"testing"
	"time"
)

func TestJudge(t *testing.T) {
	secondaryBody := []byte(`{"message":"You have exceeded a secondary rate limit. Please wait"}`)
	head := func(pairs ...string) http.Header {
		h := http.Header{}
		for i := 0; i+1 < len(pairs); i += 2 {
			h.Set(pairs[i], pairs[i+1])
		}
		return h
	}
	reset := "1780315230" // noon and 30 s
	tests := []struct {
		name  string
		a     answer
		want  outcome
		told  time.Duration
		quiet time.Duration
	}{
		{"good", answer{status: 200}, settled, 0, 0},
		{"good with some left", answer{status: 200, header: head("X-RateLimit-Remaining", "1", "X-RateLimit-Reset", reset)}, settled, 0, 0},
		{"good with none left", answer{status: 200, header: head("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", reset)}, settled, 0, 30 * time.Second},
		{"good with none left, no reset", answer{status: 200, header: head("X-RateLimit-Remaining", "0")}, settled, 0, 0},
		{"not modified with none left", answer{status: 304, header: head("RateLimit", `"a";r=0;t=9`)}, settled, 0, 9 * time.Second},
		{"not found with none left", answer{status: 404, header: head("RateLimit", `"a";r=0;t=9`)}, settled, 0, 9 * time.Second},
		{"good, told throttled", answer{status: 200, throttled: true}, limited, 0, 0},
		{"bad request", answer{status: 400}, settled, 0, 0},
		{"unauthorised", answer{status: 401}, settled, 0, 0},
		{"forbidden", answer{status: 403, body: []byte(`{"message":"Resource not accessible by integration"}`), header: head("X-RateLimit-Remaining", "4290")}, settled, 0, 0},
		{"forbidden with none left", answer{status: 403, header: head("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", reset)}, limited, 30 * time.Second, 0},
		{"forbidden with Retry-After", answer{status: 403, header: head("Retry-After", "7")}, limited, 7 * time.Second, 0},
		{"secondary", answer{status: 403, body: secondaryBody, header: head("X-RateLimit-Remaining", "4290", "X-RateLimit-Reset", reset)}, limited, time.Minute, 0},
		{"secondary again", answer{status: 403, body: secondaryBody, secondary: 1}, limited, 2 * time.Minute, 0},
		{"secondary many times", answer{status: 403, body: secondaryBody, secondary: 1 << 40}, limited, 4096 * time.Minute, 0},
		{"secondary as 429", answer{status: 429, body: secondaryBody}, limited, time.Minute, 0},
		{"secondary with Retry-After", answer{status: 403, body: secondaryBody, header: head("Retry-After", "90")}, limited, 90 * time.Second, 0},
		{"abuse detection", answer{status: 403, body: []byte("You have triggered an abuse detection mechanism.")}, limited, time.Minute, 0},
		{"too many", answer{status: 429}, limited, 0, 0},
		{"too many, until then", answer{status: 429, header: head("X-RateLimit-Reset", reset)}, limited, 30 * time.Second, 0},
		{"too many, quota left", answer{status: 429, header: head("X-RateLimit-Remaining", "5", "X-RateLimit-Reset", reset)}, limited, 0, 0},
		{"Retry-After before quota", answer{status: 429, header: head("Retry-After", "5", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", reset)}, limited, 5 * time.Second, 0},
		{"request timeout", answer{status: 408}, failed, 0, 0},
		{"conflict", answer{status: 409}, settled, 0, 0},
		{"gone", answer{status: 410}, settled, 0, 0},
		{"too early", answer{status: 425}, failed, 0, 0},
		{"unknown 4xx", answer{status: 499}, settled, 0, 0},
		{"server error", answer{status: 500}, failed, 0, 0},
		{"not implemented", answer{status: 501}, settled, 0, 0},
		{"unavailable", answer{status: 503, header: head("Retry-After", "3600")}, failed, time.Hour, 0},
		{"proxy's own", answer{status: 520}, failed, 0, 0},
		{"beyond all", answer{status: 999}, failed, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.a.now = noon
			if tt.a.header == nil {
				tt.a.header = http.Header{}
			}
			got := judge(tt.a)
			if got.outcome != tt.want || got.told != tt.told || got.quiet != tt.quiet {
				t.Errorf("got %+v, want outcome %d, told %s, quiet %s", got, tt.want, tt.told, tt.quiet)
			}
			if (got.why == "") != (got.outcome == settled) {
				t.Errorf("why is %q", got.why)
			}
		})
	}
}

func TestThrottledGraphQL(t *testing.T) {
	tests := []struct {
		body string
		want bool
	}{
		{`{"data":null,"errors":[{"message":"Throttled","extensions":{"code":"THROTTLED"}}]}`, true},
		{`{"errors":[{"type":"RATE_LIMITED","message":"API rate limit exceeded"}]}`, true},
		{"\xef\xbb\xbf" + `{"errors":[{"extensions":{"code":"RATE_LIMITED"}}]}`, true},
		{`{"errors":[{"extensions":7},{"type":"RATE_LIMITED"}]}`, true},
		{`{"errors":[{"extensions":{"code":"ACCESS_DENIED"}}]}`, false},
		{`{"data":{"items":[{"id":1,"state":"THROTTLED"}]}}`, false},
		{`{"items":[{"errors":[{"type":"RATE_LIMITED"}]}]}`, false},
		{`{"errors":[{"type":"RATE_LIMITED"}]`, false},
		{`[{"type":"RATE_LIMITED"}]`, false},
		{``, false},
	}
	for _, tt := range tests {
		if got := isThrottledGraphQL([]byte(tt.body)); got != tt.want {
			t.Errorf("%s: got %v", tt.body, got)
		}
	}
}

func TestPlan(t *testing.T) {
	const inline, most = time.Minute, 24 * time.Hour
	full := tally{more: true, backoff: 4 * time.Second, now: noon}
	spent := tally{backoff: 4 * time.Second, now: noon}
	near := tally{more: true, backoff: 4 * time.Second, now: noon, deadline: noon.Add(3 * time.Second)}
	tests := []struct {
		name string
		v    verdict
		t    tally
		want step
		wait time.Duration
	}{
		{"settled", verdict{}, full, deliver, 0},
		{"failed", verdict{outcome: failed}, full, again, 4 * time.Second},
		{"failed at last", verdict{outcome: failed}, spent, deliver, 0},
		{"failed before a near deadline", verdict{outcome: failed}, near, deliver, 0},
		{"failed, told a short time", verdict{outcome: failed, told: 9 * time.Second}, full, again, 9 * time.Second},
		{"failed at last, told a short time", verdict{outcome: failed, told: 9 * time.Second}, spent, deliver, 0},
		{"failed, told a long time", verdict{outcome: failed, told: time.Hour}, full, park, time.Hour},
		{"failed at last, told a long time", verdict{outcome: failed, told: time.Hour}, spent, park, time.Hour},
		{"limited", verdict{outcome: limited}, full, again, 4 * time.Second},
		{"limited, told too short", verdict{outcome: limited, told: 5 * time.Millisecond}, full, again, time.Second},
		{"limited, told the longest", verdict{outcome: limited, told: time.Minute}, full, again, time.Minute},
		{"limited, told longer", verdict{outcome: limited, told: time.Minute + 1}, full, park, time.Minute + 1},
		{"limited, told for ever", verdict{outcome: limited, told: ceiling}, full, park, most},
		{"limited at last", verdict{outcome: limited}, spent, park, time.Minute},
		{"limited before a near deadline", verdict{outcome: limited}, near, park, 4 * time.Second},
		{"told before a near deadline", verdict{outcome: failed, told: 30 * time.Second}, near, park, 30 * time.Second},
		{"no back-off", verdict{outcome: failed}, tally{more: true, now: noon}, again, time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, wait := plan(tt.v, tt.t, inline, most); got != tt.want || wait != tt.wait {
				t.Errorf("got %d after %s, want %d after %s", got, wait, tt.want, tt.wait)
			}
		})
	}
}
