package vault

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

const canary = "hunter2-canary"

// visible reports what of the canary shows in text, in the spellings that the
// verbs of fmt give to a string.
func visible(text string) bool {
	for _, spelling := range []string{canary, fmt.Sprintf("%x", canary), fmt.Sprintf("%X", canary), fmt.Sprintf("% x", canary), fmt.Sprint([]byte(canary))} {
		if strings.Contains(text, spelling) {
			return true
		}
	}
	return false
}

func TestSecretIsNotPrinted(t *testing.T) {
	s := NewSecret(canary)
	type holder struct {
		Open   Secret
		closed Secret
		byKey  map[string]Secret
	}
	values := map[string]any{
		"value":     s,
		"pointer":   &s,
		"struct":    holder{s, s, map[string]Secret{"token": s}},
		"to struct": &holder{s, s, map[string]Secret{"token": s}},
		"map":       map[string]Secret{"token": s},
		"slice":     []Secret{s},
		"any":       []any{s, &s},
		"error":     fmt.Errorf("sign with %v: %w", s, errors.New("refused")),
	}
	verbs := []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "% x", "%d", "%t", "%p", "%10v", "%-40s", "%!"}
	for name, v := range values {
		for _, verb := range verbs {
			if got := fmt.Sprintf(verb, v); visible(got) {
				t.Errorf("%s of %s shows the secret: %s", verb, name, got)
			}
		}
	}
	if got := fmt.Sprintf("%s %v %q", s, s, s); got != "[secret] [secret] [secret]" {
		t.Errorf("got %s", got)
	}
}

func TestSecretIsNotMarshalled(t *testing.T) {
	s := NewSecret(canary)
	v := map[string]any{"token": s, "pointer": &s, "list": []Secret{s}}

	text, err := json.Marshal(v)
	if want := `{"list":["[secret]"],"pointer":"[secret]","token":"[secret]"}`; err != nil || string(text) != want {
		t.Errorf("json: got %s, %v, want %s", text, err, want)
	}
	text, err = yaml.Marshal(v)
	if want := "list:\n    - '[secret]'\npointer: '[secret]'\ntoken: '[secret]'\n"; err != nil || string(text) != want {
		t.Errorf("yaml: got %s, %v, want %s", text, err, want)
	}
	type element struct{ Token Secret }
	text, err = xml.Marshal(element{s})
	if err != nil || visible(string(text)) || !strings.Contains(string(text), hidden) {
		t.Errorf("xml: got %s, %v", text, err)
	}
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(struct{ Token Secret }{s}); visible(b.String()) {
		t.Errorf("gob: got %q, %v", b.String(), err)
	}
}

func TestSecretIsNotLogged(t *testing.T) {
	s := NewSecret(canary)
	var b bytes.Buffer
	for _, h := range []slog.Handler{slog.NewJSONHandler(&b, nil), slog.NewTextHandler(&b, nil)} {
		slog.New(h).With("with", s).Info("signed", "token", s, "pointer", &s, "any", []Secret{s}, slog.Group("g", "s", s))
	}
	if visible(b.String()) {
		t.Errorf("a log shows the secret: %s", b.String())
	}
	if got := strings.Count(b.String(), hidden); got != 10 {
		t.Errorf("got %d times %s, want 10: %s", got, hidden, b.String())
	}
}

func TestSecretValue(t *testing.T) {
	var zero Secret
	if got := zero.Reveal(); got != "" || !zero.IsZero() {
		t.Errorf("zero secret: got %q", got)
	}
	if got := NewSecret(canary).Reveal(); got != canary {
		t.Errorf("got %q, want %q", got, canary)
	}
	if NewSecret(canary).IsZero() || !NewSecret("").IsZero() {
		t.Error("IsZero is wrong")
	}
	if !NewSecret("a").Equal(NewSecret("a")) || NewSecret("a").Equal(NewSecret("b")) || !zero.Equal(NewSecret("")) {
		t.Error("Equal is wrong")
	}
}
