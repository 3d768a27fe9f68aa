package migrations

import (
	"strings"
	"testing"
)

func TestPending(t *testing.T) {
	known := []Migration{{Number: 1, Name: "init", Checksum: "a"}, {Number: 2, Name: "more", Checksum: "b"}}
	one, two := Applied{Number: 1, Name: "init", Checksum: "a"}, Applied{Number: 2, Name: "more", Checksum: "b"}
	tests := []struct {
		name    string
		applied []Applied
		left    int
		err     string
	}{
		{"an empty database", nil, 2, ""},
		{"one is left", []Applied{one}, 1, ""},
		{"up to date", []Applied{one, two}, 0, ""},
		{"a gap", []Applied{two}, 0, "0001 is missing"},
		{"newer than the program", []Applied{one, two, {Number: 3, Name: "next"}}, 0, "0003_next, this program knows 0002 at most"},
		{"from another file", []Applied{{Number: 1, Name: "init", Checksum: "x"}}, 0, "differs from this program's"},
	}
	for _, tt := range tests {
		left, err := Pending(known, tt.applied)
		if len(left) != tt.left || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %d left, %v; want %d, %q", tt.name, len(left), err, tt.left, tt.err)
		}
	}
}
