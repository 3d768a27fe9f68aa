package cli

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestCompletions(t *testing.T) {
	w := filledWorld(t)
	id := w.ran(past{key: alice, outcome: done()})
	for _, tt := range []struct{ args, want string }{
		{"status |", "alice bob carol"},
		{"status c|", "carol"},
		{"sync alice |", "shop"},
		{"cursor show bob |", "desk"},
		{"cursor show dave |", ""},
		{"cursor show alice shop |", ""},
		{"cursor reset alice shop --stream o|", "orders"},
		{"runs list --user b|", "bob"},
		{"runs list --provider |", "desk shop"},
		{"runs list --state f|", "failed"},
		{"runs show |", id},
		{"runs show " + id + " |", ""},
		{"rejects list --run 0|", id},
		{"connectors show |", "sample"},
		{"next -o j|", "json"},
		{"sources p|", "pause"},
		{"completion |", "bash fish powershell zsh"},
	} {
		line := strings.Split(strings.TrimSuffix(tt.args, "|"), " ")
		out, _, code := w.complete(line)
		if code != exitDone || out != tt.want {
			t.Errorf("%s: got %q (exit code %d), want %q", tt.args, out, code, tt.want)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if out := w.run(exitDone, "completion", shell); !strings.Contains(out, "__complete") {
			t.Errorf("%s: got %q", shell, out)
		}
	}
}

// Without a configuration or a store nothing is completed, and nothing said or made.
func TestCompletionsOfNothing(t *testing.T) {
	w := newWorld(t, providers+sources)
	for _, args := range []string{"runs show ", "rejects show ", "sources remove "} {
		if out, errs, code := w.complete(strings.Split(args, " ")); out != "" || strings.Contains(errs, "syncd:") || code != exitDone {
			t.Errorf("%s: got %q, %q, exit code %d", args, out, errs, code)
		}
	}
	if made, _ := filepath.Glob(filepath.Join(filepath.Dir(w.file), "*.db")); len(made) > 0 {
		t.Errorf("completing made %v", made)
	}
	w.configure("broken: [")
	if out, errs, code := w.complete([]string{"status", ""}); out != "" || strings.Contains(errs, "syncd:") || code != exitDone {
		t.Errorf("got %q, %q, exit code %d", out, errs, code)
	}
}

// complete returns the words that complete a command line, without what is said of them.
func (w *world) complete(line []string) (words, errs string, code int) {
	w.Helper()
	out, errs, code := w.try(append([]string{"__complete"}, line...)...)
	var list []string
	for _, l := range strings.Split(out, "\n") {
		word, _, _ := strings.Cut(l, "\t")
		if word != "" && !strings.HasPrefix(word, ":") {
			list = append(list, word)
		}
	}
	return strings.Join(list, " "), errs, code
}
