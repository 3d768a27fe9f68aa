// Package web serves what other programs ask of a running daemon.
package web

import (
	"context"
	"net/http"
	"time"
)

// Handler answers GET /healthz, which says that the process lives, and GET
// /readyz, which says whether it can work: 200, or 503 with what ready returned.
// The API and the pages of users who connect are there where api is not nil.
func Handler(ready func(context.Context) error, api *API) http.Handler {
	mux := http.NewServeMux()
	if api != nil {
		api.register(mux)
		api.registerPages(mux)
	}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		plain(w, http.StatusOK, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
		defer cancel()
		if err := ready(ctx); err != nil {
			plain(w, http.StatusServiceUnavailable, "not ready: "+err.Error())
			return
		}
		plain(w, http.StatusOK, "ready")
	})
	return mux
}

func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	w.Write([]byte(text + "\n"))
}
