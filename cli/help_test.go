package cli

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/connectors/sample"
)

func testApp() *app {
	return &app{
		Streams:    Streams{strings.NewReader(""), io.Discard, io.Discard},
		connectors: []syncd.Connector{sample.Connector()},
		env:        func(string) (string, bool) { return "", false },
	}
}

func everyCommand(c *cobra.Command, visit func(*cobra.Command)) {
	visit(c)
	for _, sub := range c.Commands() {
		everyCommand(sub, visit)
	}
}

// shellWords splits an example as a shell would, up to its comment or its next command.
func shellWords(line string) []string {
	var words []string
	var word strings.Builder
	var quote rune
	begun, spaces := false, 0
	end := func() {
		if begun {
			words = append(words, word.String())
			word.Reset()
			begun = false
		}
	}
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '"' || r == '\'':
			quote, begun = r, true
		case r == ' ':
			end()
			if spaces++; spaces > 1 {
				return words
			}
			continue
		case strings.ContainsRune("|<>&;)", r):
			end()
			return words
		default:
			word.WriteRune(r)
			begun = true
		}
		spaces = 0
	}
	end()
	return words
}

// Every command teaches by example, and what the examples say can be typed.
func TestExamples(t *testing.T) {
	everyCommand(testApp().root(), func(c *cobra.Command) {
		if c.Name() == "help" {
			return
		}
		if c.Short == "" || c.Example == "" {
			t.Errorf("%s has no description or no example", c.CommandPath())
		}
		for _, line := range strings.Split(c.Example, "\n") {
			_, command, ok := strings.Cut(line, "syncd ")
			if !ok || strings.Contains(line, "kill ") {
				continue
			}
			root := testApp().root() // flags keep what they are given
			args := shellWords(command)
			found, rest, err := root.Find(args)
			if err != nil {
				t.Errorf("%s: example %q: %v", c.CommandPath(), line, err)
				continue
			}
			err = found.ParseFlags(rest)
			if err == nil {
				err = found.ValidateArgs(found.Flags().Args())
			}
			if err != nil {
				t.Errorf("%s: example %q: %v", c.CommandPath(), line, err)
			}
		}
	})
}

func TestHelp(t *testing.T) {
	w := newWorld(t, providers+sources)
	everyCommand(testApp().root(), func(c *cobra.Command) {
		args := append(strings.Fields(c.CommandPath())[1:], "--help")
		out, errs, code := w.try(args...)
		if code != exitDone || errs != "" {
			t.Errorf("%s: exit code %d, %s", c.CommandPath(), code, errs)
		}
		if c.Name() != "help" && !strings.Contains(out, "Examples:\n  ") {
			t.Errorf("%s --help shows no example: %s", c.CommandPath(), out)
		}
	})
}

func TestUsageErrors(t *testing.T) {
	w := filledWorld(t)
	for _, tt := range []struct{ args, want string }{
		{"frobnicate", "unknown command"},
		{"statsu", "did you mean status"},
		{"sources frobnicate", "unknown command"},
		{"completion tcsh", "unknown command"},
		{"check x", "expected no arguments, got 1 argument"},
		{"migrate x", "expected no arguments"},
		{"version x", "expected no arguments"},
		{"status a b c", "got 3 arguments"},
		{"status a --user b", "both name the user"},
		{"status --limit x", "a number of rows"},
		{"status --limit=-1", "a number of rows"},
		{"status -o xml", "table or json"},
		{"status --nope", "unknown flag"},
		{"next alice", "got 1 argument"},
		{"next -n 0", "it is 1 to"},
		{"next --from yesterday", "expected a time such as"},
		{"next --timezone UTC", "a source has its own"},
		{"next alice shop --schedule @daily", "instead of USER PROVIDER"},
		{"next --schedule @daily --timezone Local", "is not a time zone"},
		{"next --schedule @daily --timezone=", "is not a time zone"},
		{"next --schedule @daily --timezone Berlin", "is not a time zone"},
		{"sources pause alice", "expected USER PROVIDER, got 1 argument"},
		{"sources pause alice shop --reason removed", "not in the configuration"},
		{"sources resume alice shop --reason removed", "not in the configuration"},
		{"cursor show alice", "expected USER PROVIDER"},
		{"runs list --state finished", "it is one of running, done"},
		{"runs show zzz", "not the id of a run"},
		{"rejects show x", "not the id of a reject"},
		{"rejects show -1", "unknown shorthand flag"},
		{"rejects show 0", "not the id of a reject"},
		{"rejects discard", "requires at least 1 arg"},
		{"rejects discard x", "not the id of a reject"},
		{"connectors show nothing", "there is sample"},
	} {
		contains(t, w.run(exitUsage, strings.Fields(tt.args)...), tt.want)
	}
	// A variable of a script that is not set must not stand for everything.
	for _, args := range [][]string{
		{"status", ""}, {"status", "--user", ""}, {"sources", "remove", "alice", ""}, {"next", "", ""}, {"runs", "show", ""},
		{"cursor", "reset", "alice", "shop", "--stream", ""}, {"next", "--schedule", ""},
	} {
		contains(t, w.run(exitUsage, args...), "empty")
	}
}
