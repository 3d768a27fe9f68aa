package transport

import (
	"net/http"
	"testing"
	"time"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/vault"
)

// What a provider says in its own way counts before the widespread fields, and
// what it does not say leaves them in force.
func TestQuotaOfTheProvidersOwn(t *testing.T) {
	usedUp := func(at time.Time) func(http.Header, time.Time) syncd.Quota {
		return func(h http.Header, now time.Time) syncd.Quota {
			if h.Get("X-Left") == "" {
				return syncd.Quota{}
			}
			return syncd.Quota{Known: true, Reset: at}
		}
	}
	common := http.Header{"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {"30"}}
	own := common.Clone()
	own.Set("X-Left", "0")
	s := &Stack{cfg: Config{Quota: usedUp(noon.Add(time.Hour))}}
	for _, c := range []struct {
		name   string
		header http.Header
		want   time.Duration
	}{
		{"its own way", own, time.Hour},
		{"says nothing", common, 30 * time.Second},
	} {
		v := judge(answer{status: 200, header: c.header, now: noon, own: s.ownQuota(c.header, noon)})
		if v.quiet != c.want {
			t.Errorf("%s: quiet for %s, want %s", c.name, v.quiet, c.want)
		}
	}
}

func TestHeaderKeyWithPrefix(t *testing.T) {
	s, err := newSigner(syncd.Auth{Scheme: syncd.HeaderKey, Name: "Authorization", Prefix: "token "}, map[string]vault.Secret{"token": vault.NewSecret("abcd")})
	if err != nil {
		t.Fatal(err)
	}
	req, _ := http.NewRequest("GET", "http://api.test/", nil)
	s.sign(req)
	if got := req.Header.Get("Authorization"); got != "token abcd" {
		t.Errorf("got %q", got)
	}
}
