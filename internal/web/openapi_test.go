package web

import (
	"encoding/json"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// Each call is described, and nothing else is.
func TestDescribedIsServed(t *testing.T) {
	var described, served []string
	for path, methods := range operations() {
		for method := range methods {
			described = append(described, strings.ToUpper(method)+" "+path)
		}
	}
	for _, r := range routes {
		served = append(served, r.pattern)
	}
	served = append(served, streamed...)
	slices.Sort(described)
	slices.Sort(served)
	if !slices.Equal(described, served) {
		t.Errorf("described %v\nserved %v", described, served)
	}
}

// The description names each schema that it refers to, and uses each that it names.
func TestDescriptionIsWhole(t *testing.T) {
	var doc struct {
		Components struct{ Schemas map[string]any }
	}
	if err := json.Unmarshal(description, &doc); err != nil {
		t.Fatal(err)
	}
	for name := range doc.Components.Schemas {
		compiled("#/components/schemas/" + name)
		if !strings.Contains(string(description), `"#/components/schemas/`+name+`"`) {
			t.Errorf("nothing refers to the schema %s", name)
		}
	}
}

// What is complained of does not show what a secret was.
func TestComplaintsShowNoSecret(t *testing.T) {
	v := described("PUT", "/v1/sources/{user}/{provider}/credentials")
	for _, body := range []string{`{"token":["canary"]}`, `{"token":"","canary-key":"canary"}`, `{"password":{"canary":1}}`, `"canary"`, `canary`, `{}`} {
		req := httptest.NewRequest("PUT", "/", strings.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		_, problem := v.check(req)
		if problem == nil {
			t.Errorf("%s is valid", body)
			continue
		}
		if text := problem.Error(); strings.Contains(strings.ReplaceAll(text, "canary-key", ""), "canary") {
			t.Errorf("%s: %s", body, text)
		}
	}
}
