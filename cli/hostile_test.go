package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/syncdhq/syncd/internal/store"
)

// hostile is text that a terminal would obey: it clears the screen, rings,
// overwrites the line, opens a link, and turns the direction of writing.
const hostile = "a\x1b[2J\x1b]8;;http://x\x07b\rc\x08d\x7fe\u009b31mf\u202eg\u2066h\u2028i\tj\x00k"

// Data never reaches the terminal as commands, and JSON has it all the same.
func TestTerminalsObeyNoData(t *testing.T) {
	w := filledWorld(t)
	stored := strings.ReplaceAll(hostile, "\x00", "")
	id := w.ran(past{key: alice, outcome: store.Outcome{State: store.Failed, Error: stored + "\nx", Notes: stored, Failures: 1, DueAt: time.Now()},
		rejects: []store.Reject{
			{Stream: hostile, Part: hostile, RecordID: hostile, Reason: hostile, Detail: hostile, Place: hostile, Raw: []byte(hostile), Digest: store.Hash{1}},
		},
		cursors: []store.Cursor{{Stream: stored, Part: stored, Watermark: 7, State: `{"sync":"` + "a\u009b31mb\u202ec" + `"}`}},
	})
	_, err := w.store.Pause(t.Context(), bob, stored)
	w.must(err)
	reject := fmt.Sprint(w.rejects()[0].ID)
	w.must(w.store.Add(t.Context(), store.Spec{Key: store.Key{User: stored, Provider: "shop"}, Connector: "sample", Schedule: "@daily", Declared: "{}"}))

	for _, args := range [][]string{
		{"status"}, {"sources", "list"}, {"sources", "resume", "bob", "desk"}, {"next"}, {"next", "bob", "desk"},
		{"runs", "list"}, {"runs", "show", id}, {"cursor", "show", "alice", "shop"}, {"cursor", "reset", "bob", "desk"},
		{"rejects", "list"}, {"rejects", "show", reject}, {"__complete", "rejects", "show", ""}, {"cursor", "show", "alice", "shop", "--stream", hostile},
		{"status", hostile}, {"sources", "pause", hostile, "x"}, {"runs", "show", hostile}, {"rejects", "show", hostile}, {"connectors", "show", hostile},
		{"runs", "list", "--state", hostile}, {"next", "--schedule", hostile}, {"next", "--schedule", "@daily", "--timezone", hostile}, {"next", "--from", hostile},
		{"sources", "remove", hostile, "x"}, {"sources", "pause", "bob", "desk", "--reason", hostile}, {hostile}, {"status", "--" + hostile},
		{"users", "list"}, {"users", "list", "-o", "json"}, {"users", "export", stored}, {"users", "export", hostile}, {"users", "export", stored, "--file", hostile}, {"__complete", "users", "erase", ""},
		{"users", "erase", hostile}, {"users", "erase", stored}, {"users", "erase", stored, "--yes"}, {"users", "erase", stored, "--yes"},
	} {
		out, errs, _ := w.try(args...)
		if args[0] == "__complete" {
			out = strings.ReplaceAll(out, "\t", " ") // between a word and its description
		}
		for _, r := range out + errs {
			if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028') {
				t.Errorf("syncd %q: wrote %U in %q", args, r, out+errs)
				break
			}
		}
	}
	for _, args := range [][]string{
		{"status"}, {"sources", "list"}, {"runs", "list"}, {"runs", "show", id}, {"cursor", "show", "alice", "shop"}, {"rejects", "list"}, {"rejects", "show", reject},
	} {
		var v any
		out, _, _ := w.try(append(args, "-o", "json")...)
		if err := json.Unmarshal([]byte(out), &v); err != nil {
			t.Errorf("%s: %v", args, err)
		}
		if i := strings.IndexFunc(out, func(r rune) bool { return r != '\n' && obeyed(r) }); i >= 0 {
			t.Errorf("syncd %s -o json: wrote %q", args, out[max(0, i-10):min(len(out), i+10)])
		}
		wanted := []string{"status", "runs", "rejects"}
		if slices.Contains(wanted, args[0]) && !strings.Contains(out, `\u001b[2J`) {
			t.Errorf("syncd %s -o json lost the text: %s", args, out)
		}
	}
	var rows []cursorRow
	w.json(&rows, "cursor", "show", "alice", "shop")
	if want := `{"sync":"` + "a\u009b31mb\u202ec" + `"}`; rows[0].State != want {
		t.Errorf("got %q, want %q", rows[0].State, want)
	}
	if got := w.rejects()[0].Detail; got != hostile {
		t.Errorf("got %q, want %q", got, hostile)
	}
}

func TestPrintable(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, "a\nb\r\nc\td": true, "Sjöberg 漢字 😀": true,
		"a\rb": false, "\x1b[31m": false, "\x00": false, "\xff": false, "a\u009bb": false, "a\u202eb": false,
	} {
		if got := printable([]byte(text)); got != want {
			t.Errorf("printable(%q) = %v, want %v", text, got, want)
		}
	}
}
