package connectortest

import (
	"slices"
	"testing"
)

// Findings plays the scenarios as Run does and returns what they found, by
// "STREAM/SCENARIO". It does not fail t. If names are given, it plays those and
// the first alone.
func Findings(t *testing.T, s Subject, names ...string) map[string][]string {
	t.Helper()
	streams, err := s.streams()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for _, stream := range streams {
		p := newProof(t, s, stream.Name)
		for _, sc := range p.scenarios() {
			if len(names) > 0 && !sc.first && !slices.Contains(names, sc.name) {
				continue
			}
			found := p.play(t, sc)
			if len(found) == 0 {
				continue
			}
			out[stream.Name+"/"+sc.name] = found
			if sc.first {
				break
			}
		}
	}
	return out
}

// Scenarios are the names of all scenarios.
func Scenarios() []string {
	var out []string
	for _, sc := range all {
		out = append(out, sc.name)
	}
	return out
}

// Check returns what is wrong with a subject.
func Check(s Subject) error {
	_, err := s.streams()
	return err
}
