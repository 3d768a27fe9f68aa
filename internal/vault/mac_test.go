package vault

import "testing"

func TestSign(t *testing.T) {
	old, both, other := ring(t, "a"), ring(t, "b", "a"), ring(t, "c")
	proof := old.Sign("link", "text")
	for name, c := range map[string]struct {
		keys                 *Keyring
		purpose, text, proof string
		want                 bool
	}{
		"as it was":       {old, "link", "text", proof, true},
		"after a new key": {both, "link", "text", proof, true},
		"other keys":      {other, "link", "text", proof, false},
		"another purpose": {old, "state", "text", proof, false},
		"another text":    {old, "link", "texu", proof, false},
		"cut":             {old, "link", "text", proof[:len(proof)-1], false},
		"none":            {old, "link", "text", "", false},
		"no key's":        {old, "link", "text", "a_", false},
		"another key's":   {both, "link", "text", "b" + proof[1:], false},
	} {
		if got := c.keys.Verify(c.purpose, c.text, c.proof); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
	if both.Sign("link", "text") == proof {
		t.Error("two keys sign alike")
	}
}

func TestDerive(t *testing.T) {
	k := ring(t, "b", "a")
	one := k.Derive("a", "pkce", "state")
	if one.IsZero() || !one.Equal(ring(t, "a").Derive("a", "pkce", "state")) {
		t.Error("it is not the same again")
	}
	if len(one.Reveal()) != 43 { // a code_verifier has 43 characters at least: RFC 7636, section 4.1
		t.Errorf("it has %d characters", len(one.Reveal()))
	}
	for name, other := range map[string]Secret{"key": k.Derive("b", "pkce", "state"), "purpose": k.Derive("a", "link", "state"), "text": k.Derive("a", "pkce", "stat")} {
		if one.Equal(other) {
			t.Errorf("another %s makes the same", name)
		}
	}
	if !k.Derive("z", "pkce", "state").IsZero() {
		t.Error("a key that is not there makes a secret")
	}
}
