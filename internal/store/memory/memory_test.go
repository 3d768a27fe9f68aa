package memory

import (
	"testing"
	"time"

	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/store/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		s := New(nil)
		return storetest.Harness{
			Store:   s,
			Expire:  func(_ *testing.T, key store.Key) { s.Expire(key) },
			Changes: func(_ *testing.T, key store.Key) []store.Change { return s.Changes(key) },
			Records: func(_ *testing.T, key store.Key) []storetest.Record {
				var out []storetest.Record
				for _, r := range s.Records(key) {
					out = append(out, storetest.Record(r))
				}
				return out
			},
		}
	})
}

func TestClock(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 123456789, time.FixedZone("", 3600))
	s := New(func() time.Time { return at })
	got, err := s.Now(t.Context())
	if want := time.Date(2026, 1, 2, 2, 4, 5, 123456000, time.UTC); err != nil || got != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}
