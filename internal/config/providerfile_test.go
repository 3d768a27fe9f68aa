package config

import "testing"

// A provider file without anything in it says what such a file needs.
func TestEmptyProviderFile(t *testing.T) {
	for _, text := range []string{"", "# tickets\n", "---\n", "~\n"} {
		_, err := FromFile("tickets.yaml", []byte(text), allConnectors(t), nil)
		if got, want := message(err), "tickets.yaml:1:1: the file is empty: it needs at least streams:"; got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

func message(err error) string {
	if err == nil {
		return "no error"
	}
	return err.Error()
}
