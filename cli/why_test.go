package cli

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/syncdhq/syncd/internal/store"
)

func TestCauses(t *testing.T) {
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	key := store.Key{User: "alice", Provider: "desk"}
	for name, c := range map[string]struct {
		row        store.Source
		credential store.Credential
		unfit      error
		want       []string
	}{
		"all is well":      {row: store.Source{DueAt: now.Add(time.Hour)}},
		"a withdrawn one":  {row: store.Source{Paused: []string{store.PausedAuth}}, credential: store.Credential{Refused: "invalid_grant"}, want: []string{"connect the account again: invalid_grant → syncd connect alice desk"}},
		"a new one":        {row: store.Source{Paused: []string{store.PausedAuth}}, want: []string{"waits for its user"}},
		"three reasons":    {row: store.Source{Paused: []string{store.PausedAccount, store.PausedOperator, "migration"}, Account: "1"}, credential: store.Credential{Identity: "2"}, want: []string{"(2) than the one that its records are of (1)", "syncd sources resume alice desk", "paused for migration"}},
		"taken out":        {row: store.Source{Paused: []string{store.PausedRemoved}}, unfit: noSource{key, "a.yaml"}, want: []string{"no longer in the configuration"}},
		"of no provider":   {unfit: errors.New("the provider is gone"), want: []string{"the provider is gone"}},
		"failing":          {row: store.Source{Failures: 3, LastError: "503", DueAt: now.Add(4 * time.Minute)}, want: []string{"its last 3 runs failed: 503 → it is tried again in 4m"}},
		"late":             {row: store.Source{DueAt: now.Add(-time.Hour)}, want: []string{"due for 1h"}},
		"quota":            {row: store.Source{Resume: store.ResumeParked, DueAt: now.Add(time.Hour)}, want: []string{"quota is used up: it goes on in 1h"}},
		"rejects":          {row: store.Source{OpenRejects: 2, DueAt: now.Add(time.Hour)}, want: []string{"2 records could not be ingested"}},
		"run, with reject": {row: store.Source{OpenRejects: 1, Owner: "d1", LeaseUntil: now.Add(time.Minute)}, want: []string{"run by d1", "1 record could not"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.row.Key = key
			got := causes(c.row, c.credential, c.unfit, now)
			if len(got) != len(c.want) {
				t.Fatalf("got %+v, want %d causes", got, len(c.want))
			}
			for i, want := range c.want {
				if line := got[i].Why + " → " + got[i].Remedy; !strings.Contains(line, want) {
					t.Errorf("got %s, want %s in it", line, want)
				}
			}
		})
	}
}

func TestWhy(t *testing.T) {
	w := filledWorld(t)
	w.run(exitDone, "sources", "pause", "bob", "desk")
	contains(t, w.run(exitDone, "why", "bob", "desk"), "bob desk: paused: operator", "an operator has paused it", "syncd sources resume bob desk")
	var a whyAnswer
	w.json(&a, "why", "bob", "desk")
	if a.State != sourcePaused || len(a.Causes) != 1 {
		t.Errorf("got %+v", a)
	}
	contains(t, w.run(exitFailed, "why", "dave", "desk"), "there is no source dave desk")
}
