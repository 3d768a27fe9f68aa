package connectortest

import "testing"

// Findings plays all scenarios as Run does and returns what they found, by
// "STREAM/SCENARIO". It does not fail t.
func Findings(t *testing.T, s Subject) map[string][]string {
	t.Helper()
	streams, err := s.streams()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for _, stream := range streams {
		p := newProof(t, s, stream.Name)
		for _, sc := range p.scenarios() {
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
