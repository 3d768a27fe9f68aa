package web

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestHandler(t *testing.T) {
	var trouble error
	h := Handler(func(context.Context) error { return trouble }, nil)
	tests := []struct {
		method, path string
		trouble      error
		status       int
		body         string
	}{
		{"GET", "/healthz", nil, 200, "ok"},
		{"GET", "/healthz", errors.New("no store"), 200, "ok"},
		{"GET", "/readyz", nil, 200, "ready"},
		{"GET", "/readyz", errors.New("no store"), 503, "no store"},
		{"POST", "/readyz", nil, 405, ""},
		{"GET", "/", nil, 404, ""},
	}
	for _, tt := range tests {
		trouble = tt.trouble
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(tt.method, tt.path, nil))
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.body) {
			t.Errorf("%s %s: %d %q, want %d %q", tt.method, tt.path, w.Code, w.Body, tt.status, tt.body)
		}
	}
}
