package connectortest

import (
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/ingest"
	"github.com/syncdhq/syncd/internal/recording"
	"github.com/syncdhq/syncd/internal/run"
	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/store/memory"
)

// updateVariable has Replay write what it would compare.
const updateVariable = "CONNECTORTEST_UPDATE"

// Replay runs a connector on what a real provider once answered, and compares
// what comes of it with the file of the same name and ".golden" behind it: a
// line for each record, with its id, its mark and a hash of its data, and for
// each element that was set aside. The recording is made of a source that has
// not been run before, by `syncd sync USER PROVIDER --record FILE`. Of the
// subject, Connector and Options count, with the options that were recorded.
//
// With CONNECTORTEST_UPDATE=1 in the environment, Replay writes the golden file
// instead. Look at what it wrote.
func Replay(t *testing.T, s Subject, file string) {
	t.Helper()
	got, unused, err := s.replay(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	golden := file + ".golden"
	if os.Getenv(updateVariable) != "" {
		if err := os.WriteFile(golden, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatalf("%v; %s=1 go test -run '%s' writes it", err, updateVariable, t.Name())
	}
	for _, line := range differences(string(want), got) {
		t.Error(line)
	}
	if len(unused) > 0 {
		t.Errorf("the connector did not ask for all that was recorded: %s", strings.Join(unused, ", "))
	}
}

// replay runs the connector on a recording and spells what came of it.
func (s Subject) replay(ctx context.Context, file string) (text string, unused []string, err error) {
	recorded, err := recording.Open(file)
	if err != nil {
		return "", nil, err
	}
	client, err := recorded.Client()
	if err != nil {
		return "", nil, err
	}
	_, o, err := s.api()
	if err != nil {
		return "", nil, err
	}
	streams, err := o.Streams(client)
	if err != nil {
		return "", nil, err
	}
	db := memory.New(nil)
	now := time.Now()
	if err := db.Add(ctx, store.Spec{Key: owner, Connector: s.Connector.Name, Schedule: "@hourly", NextAt: now, DueAt: now, SpreadAt: now}); err != nil {
		return "", nil, err
	}
	claim, err := db.Acquire(ctx, owner, "suite", time.Hour)
	if err != nil {
		return "", nil, err
	}
	open := store.Run{ID: "run", Key: owner, Token: claim.Token, Owner: "suite", Trigger: store.TriggerOperator, State: store.Running}
	if err := db.Begin(ctx, claim.Lease, open, claim.NextAt, claim.DueAt); err != nil {
		return "", nil, err
	}
	runner := &run.Runner{Store: db, Writer: &ingest.Writer{Store: db}, Now: time.Now}
	res := runner.Run(ctx, run.Job{Source: run.Source{Key: owner, Streams: streams, MaxRejects: 100}, Lease: claim.Lease, RunID: "run", At: claim.Now})
	if res.Err != nil {
		return "", nil, fmt.Errorf("replay %s: %w", file, res.Err)
	}
	text, err = table(ctx, db, streams)
	return text, recorded.Unused(), err
}

// table spells all records and rejects, a line for each.
func table(ctx context.Context, db *memory.Store, streams []syncd.Stream) (string, error) {
	sequence := map[string]bool{}
	for _, x := range streams {
		sequence[x.Name] = x.Sequence
	}
	var b strings.Builder
	for _, r := range db.Records(owner) {
		state := hex.EncodeToString(r.Hash[:6])
		if r.Deleted {
			state = "deleted"
		}
		mark := syncd.Mark(r.Mark).Format(sequence[r.Stream])
		if mark == "" {
			mark = "-"
		}
		fmt.Fprintf(&b, "%s %s %s\n", r.ID, mark, state)
	}
	rejects, err := db.Rejects(ctx, store.RejectFilter{Resolved: true})
	if err != nil {
		return "", err
	}
	for i := len(rejects) - 1; i >= 0; i-- { // oldest first
		r := rejects[i]
		fmt.Fprintf(&b, "set aside: %s %q %s %s\n", r.Stream, r.RecordID, r.Reason, hex.EncodeToString(r.Digest[:6]))
	}
	return b.String(), nil
}

// differences says which lines of two texts the other does not have.
func differences(want, got string) []string {
	const most = 20
	have := map[string]int{}
	for line := range strings.Lines(got) {
		have[line]++
	}
	var out []string
	say := func(what, line string) {
		if len(out) < most {
			out = append(out, what+" "+strings.TrimSuffix(line, "\n"))
		}
	}
	for line := range strings.Lines(want) {
		if have[line]--; have[line] < 0 {
			say("the golden file has, and the connector no longer makes:", line)
		}
	}
	for line := range strings.Lines(got) {
		if have[line] > 0 {
			have[line]--
			say("the connector makes, and the golden file does not have:", line)
		}
	}
	return out
}
