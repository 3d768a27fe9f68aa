package strava

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/connectortest"
	"github.com/syncdhq/syncd/internal/transport"
	"github.com/syncdhq/syncd/internal/vault"
)

// Requests that Strava refuses count as well. So nobody asks again before it
// counts anew: not this source, nor another user's of the same application.
func TestNothingIsAskedBeforeTheReset(t *testing.T) {
	for name, c := range map[string]struct {
		usage string
		after time.Duration // of the request that is refused, from midnight
		want  time.Duration // of the next one
	}{
		"a moment before the quarter": {"100,400", 3*time.Hour + 29*time.Minute + 10*time.Second, 3*time.Hour + 30*time.Minute},
		"at the quarter":              {"100,400", 3*time.Hour + 30*time.Minute, 3*time.Hour + 45*time.Minute},
		"the day":                     {"50,1000", 21*time.Hour + 10*time.Minute, 24 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				midnight := time.Now().UTC() // as synctest has it
				time.Sleep(c.after)
				var mu sync.Mutex
				var asked []time.Duration
				h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					mu.Lock()
					defer mu.Unlock()
					now := time.Now()
					asked = append(asked, now.Sub(midnight))
					w.Header().Set("Date", now.UTC().Format(http.TimeFormat))
					w.Header().Set("Content-Type", "application/json; charset=utf-8")
					if now.Sub(midnight) >= c.want {
						fmt.Fprint(w, "[]")
						return
					}
					w.Header().Set("X-RateLimit-Limit", "200,2000")
					w.Header().Set("X-RateLimit-Usage", "100,400")
					w.Header().Set("X-ReadRateLimit-Limit", "100,1000")
					w.Header().Set("X-ReadRateLimit-Usage", c.usage)
					w.WriteHeader(http.StatusTooManyRequests)
					fmt.Fprint(w, `{"message":"Rate Limit Exceeded","errors":[{"resource":"Application","field":"rate limit","code":"exceeded"}]}`)
				})
				rate := Connector().Rate
				app := transport.NewPacer(rate.App)
				list := func(user string) syncd.Stream {
					stack, err := transport.New(transport.Config{
						Auth: syncd.Auth{Scheme: syncd.Bearer}, Credentials: map[string]vault.Secret{"token": vault.NewSecret("of-" + user)},
						App: app, User: transport.NewPacer(rate.User), Quota: rate.Quota, Base: connectortest.Direct(h),
					})
					if err != nil {
						t.Fatal(err)
					}
					client, err := stack.Client(Connector().BaseURL)
					if err != nil {
						t.Fatal(err)
					}
					all, err := (&Options{}).Streams(client)
					if err != nil {
						t.Fatal(err)
					}
					return all[0]
				}
				var done sync.WaitGroup
				for _, user := range []string{"alice", "bob"} {
					s := list(user)
					done.Go(func() {
						for {
							_, err := s.Fetch(t.Context(), syncd.Request{})
							wait, parked := errors.AsType[*transport.WaitError](err)
							if !parked {
								if err != nil {
									t.Error(err)
								}
								return
							}
							time.Sleep(time.Until(wait.Until))
						}
					})
					time.Sleep(time.Second)
				}
				done.Wait()
				if len(asked) != 3 || asked[0] != c.after || asked[1] < c.want || asked[2] < c.want {
					t.Errorf("asked at %v, want %s once, and the others not before %s", asked, c.after, c.want)
				}
			})
		})
	}
}
