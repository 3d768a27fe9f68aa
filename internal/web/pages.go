package web

import (
	"context"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/syncdhq/syncd/internal/connect"
	"github.com/syncdhq/syncd/internal/vault"
)

// registerPages adds the pages of users who connect. Nothing of them is meant for
// other sites: not to be framed, not to be posted to, and not to be told of.
func (a *API) registerPages(mux *http.ServeMux) {
	guard := http.NewCrossOriginProtection()
	// Behind a proxy that rewrites Host, browsers that say no more than Origin
	// would seem to come from elsewhere.
	if u, err := url.Parse(a.Settings().URL); err == nil && u.Host != "" {
		_ = guard.AddTrustedOrigin(u.Scheme + "://" + u.Host) // of a URL that the configuration has checked
	}
	for pattern, page := range map[string]http.HandlerFunc{
		"GET /connect/{link}": a.invite, "POST /connect/{link}": a.proceed, "GET /connect/callback": a.callback,
	} {
		mux.Handle(pattern, guard.Handler(page))
	}
}

// Callback is where users come back to from a provider, after the URL of the API.
const Callback = "/connect/callback"

// cookie keeps what makes a browser the one that began. It is sent along when the
// provider sends the browser back, which is a top-level navigation (Lax).
const cookie = "syncd_connect"

// A screen is what a page shows.
type screen struct {
	Title, Text string
	Action      string   // where the form goes; "" for none
	Fields      []string // that it asks for
	Wrong       string   // what was wrong with the last try
	Button      string
	Back        string // a link to the application; "" for none
	To          string // where the browser goes on by itself; "" for nowhere
}

var screens = template.Must(template.New("screen").Funcs(template.FuncMap{"label": label}).Parse(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex">
{{with .To}}<meta http-equiv="refresh" content="0;url={{.}}">
{{end}}<title>{{.Title}}</title>
<style>
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 26em; margin: 15vh auto; padding: 0 1em }
h1 { font-size: 1.4em; line-height: 1.2 }
label { display: block; margin: 1em 0 }
input { display: block; width: 100%; box-sizing: border-box; font: inherit; padding: .5em; margin-top: .25em }
button { font: inherit; padding: .5em 1.5em; margin-top: .5em; cursor: pointer }
.wrong { border-left: 4px solid #c00; padding-left: .75em }
</style>
<main>
<h1>{{.Title}}</h1>
{{with .Wrong}}<p class="wrong" role="alert">{{.}}</p>
{{end}}{{with .Text}}<p>{{.}}</p>
{{end}}{{if .Action}}<form method="post" action="{{.Action}}" autocomplete="off">
{{range .Fields}}<label>{{label .}}<input name="{{.}}" {{if eq . "username"}}type="text"{{else}}type="password"{{end}} {{if ne . "password"}}required{{end}} autocomplete="off" spellcheck="false"></label>
{{end}}<button id="go">{{.Button}}</button>
</form>
{{end}}{{with .To}}<p><a href="{{.}}">Go on</a></p>
{{end}}{{with .Back}}<p><a href="{{.}}">Back to the application</a></p>
{{end}}</main>
</html>
`))

// label is what a field is called on a page.
func label(field string) string {
	switch field {
	case "token":
		return "API key or token"
	case "username":
		return "User name"
	}
	return "Password"
}

// show answers with a page.
func show(w http.ResponseWriter, status int, s screen) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'")
	h.Set("Referrer-Policy", "no-referrer") // the address holds the link
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = screens.Execute(w, s) // the browser went away
}

// lead sends a browser elsewhere after a form. It is no redirect: browsers hold
// all redirects of a form, those of a provider's pages among them, to the
// addresses in form-action, and nobody knows those beforehand.
func lead(w http.ResponseWriter, to, title string) {
	show(w, http.StatusOK, screen{Title: title, To: to})
}

// lost is shown where there is no session to go on with.
func lost(w http.ResponseWriter, err error) {
	text := "Go back to the application that sent you here, and begin again there."
	title := "This link is no longer good"
	if errors.Is(err, connect.ErrState) {
		title = "This is not the answer that is waited for"
	}
	show(w, http.StatusNotFound, screen{Title: title, Text: text})
}

// broken is shown where something went wrong here.
func (a *API) broken(w http.ResponseWriter, err error) {
	a.Log.Error("a user who connects could not be served", "error", err)
	show(w, http.StatusInternalServerError, screen{Title: "Something went wrong", Text: "It is not your fault. Try again in a few minutes."})
}

// followed returns the session of a link and how its user connects. Where there
// is none it has answered.
func (a *API) followed(w http.ResponseWriter, r *http.Request) (*connect.Sessions, connect.Session, Way, bool) {
	sessions, err := a.Sessions(r.Context())
	var s connect.Session
	if err == nil {
		s, err = sessions.Follow(r.Context(), r.PathValue("link"))
	}
	if errors.Is(err, connect.ErrLink) {
		lost(w, err)
		return nil, s, Way{}, false
	}
	var way Way
	if err == nil {
		way, err = a.Accounts.Way(r.Context(), s)
	}
	if err != nil {
		a.broken(w, err)
		return nil, s, way, false
	}
	if s.Status.Ended() || s.Status == connect.Taken {
		show(w, http.StatusOK, ended(s, way))
		return nil, s, way, false
	}
	return sessions, s, way, true
}

// invite shows what is about to happen. Only the button begins it: links are
// also followed by programs that look at messages.
func (a *API) invite(w http.ResponseWriter, r *http.Request) {
	_, s, way, ok := a.followed(w, r)
	if ok {
		show(w, http.StatusOK, invitation(r, s, way, ""))
	}
}

func invitation(r *http.Request, s connect.Session, way Way, wrong string) screen {
	out := screen{Title: "Connect " + way.Provider, Action: "/connect/" + url.PathEscape(r.PathValue("link")), Fields: way.Fields, Wrong: wrong, Button: "Connect"}
	if way.Consent {
		out.Text, out.Button = "You will be asked to allow access to your account on the page of "+way.Provider+", and come back then.", "Continue to "+way.Provider
	} else {
		out.Text = "It is tried at " + way.Provider + " and kept encrypted."
	}
	return out
}

// proceed sends the user to the provider, or takes what they give.
func (a *API) proceed(w http.ResponseWriter, r *http.Request) {
	sessions, s, way, ok := a.followed(w, r)
	if !ok {
		return
	}
	if !way.Consent {
		a.take(w, r, sessions, s, way)
		return
	}
	j, err := sessions.Depart(r.Context(), s)
	var to string
	if err == nil {
		to, err = a.Accounts.AuthURL(r.Context(), s, j.State, j.Verifier)
	}
	if errors.Is(err, connect.ErrState) {
		lost(w, err)
		return
	}
	if err != nil {
		a.broken(w, err)
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name: cookie, Value: j.Browser, Path: Callback, MaxAge: int(connect.Lasts / time.Second),
		HttpOnly: true, Secure: strings.HasPrefix(a.Settings().URL, "https:"), SameSite: http.SameSiteLaxMode,
	})
	lead(w, to, "Going to "+way.Provider)
}

// take keeps the keys that a user gave. Those that the provider refuses can be
// given again.
func (a *API) take(w http.ResponseWriter, r *http.Request, sessions *connect.Sessions, s connect.Session, way Way) {
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	if err := r.ParseForm(); err != nil {
		show(w, http.StatusBadRequest, invitation(r, s, way, "What came could not be read. Try again."))
		return
	}
	keys := map[string]vault.Secret{}
	for _, name := range way.Fields {
		keys[name] = vault.NewSecret(strings.TrimSpace(r.PostForm.Get(name)))
		if keys[name].IsZero() && name != "password" {
			show(w, http.StatusUnprocessableEntity, invitation(r, s, way, label(name)+" is missing."))
			return
		}
	}
	err := a.Accounts.GiveIn(r.Context(), s, keys)
	if problem, ok := errors.AsType[*Problem](err); ok && problem.Code == "refused" {
		show(w, http.StatusUnprocessableEntity, invitation(r, s, way, way.Provider+" does not accept it. Look whether it is whole and still valid."))
		return
	}
	a.finish(w, r, sessions, s, way, err)
}

// callback takes a user who comes back from the provider.
func (a *API) callback(w http.ResponseWriter, r *http.Request) {
	sessions, err := a.Sessions(r.Context())
	if err != nil {
		a.broken(w, err)
		return
	}
	browser := ""
	if c, err := r.Cookie(cookie); err == nil {
		browser = c.Value
	}
	q := r.URL.Query()
	s, verifier, err := sessions.Arrive(r.Context(), q.Get("state"), browser)
	if errors.Is(err, connect.ErrState) {
		lost(w, err)
		return
	}
	if err != nil {
		a.broken(w, err)
		return
	}
	http.SetCookie(w, &http.Cookie{Name: cookie, Path: Callback, MaxAge: -1})
	way, err := a.Accounts.Way(r.Context(), s)
	switch code := q.Get("code"); {
	case err != nil:
	case q.Get("error") != "":
		err = Fault(http.StatusForbidden, "refused", "%s says %s", way.Provider, word(q.Get("error")))
	case code == "":
		err = Fault(http.StatusBadGateway, "no_code", "%s sent the browser back without a code", way.Provider)
	default:
		// The code is used up with this: what comes of it is kept, also if the
		// browser goes away meanwhile.
		err = a.Accounts.Exchange(context.WithoutCancel(r.Context()), s, code, verifier)
	}
	a.finish(w, r, sessions, s, way, err)
}

// word keeps an error code that is one (RFC 6749, section 4.1.2.1).
func word(s string) string {
	if len(s) > 64 || strings.ContainsFunc(s, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') }) {
		return "no"
	}
	return s
}

// finish ends a session, and sends the user back to the application.
func (a *API) finish(w http.ResponseWriter, r *http.Request, sessions *connect.Sessions, s connect.Session, way Way, err error) {
	s.Status, s.Detail = connect.Connected, ""
	if err != nil {
		s.Status = connect.Failed
		problem, ok := errors.AsType[*Problem](err)
		switch {
		case !ok:
			a.Log.Error("an account could not be connected", "source", s.Key.String(), "error", err)
			s.Detail = "something went wrong here; the daemon's log says what"
		case problem.Code == "refused":
			s.Status, s.Detail = connect.Refused, problem.Detail
		case problem.Code == "account_changed":
			s.Status, s.Detail = connect.Other, problem.Detail
		default:
			s.Detail = problem.Detail
		}
	}
	if err := sessions.End(context.WithoutCancel(r.Context()), s, s.Status, s.Detail); err != nil {
		a.Log.Error("the end of a session could not be noted", "error", err)
	}
	if back := backTo(s); back != "" {
		lead(w, back, ended(s, way).Title)
		return
	}
	show(w, http.StatusOK, ended(s, way))
}

// backTo is the application's page with how it went.
func backTo(s connect.Session) string {
	if s.ReturnTo == "" {
		return ""
	}
	u, err := url.Parse(s.ReturnTo)
	if err != nil {
		return ""
	}
	q := u.Query()
	q.Set("syncd_session", s.ID)
	q.Set("syncd_status", string(s.Status))
	u.RawQuery = q.Encode()
	return u.String()
}

// ended is the page of a session that is over.
func ended(s connect.Session, way Way) screen {
	out := screen{Back: backTo(s)}
	switch s.Status {
	case connect.Connected:
		out.Title, out.Text = "Connected", "Your account at "+way.Provider+" is connected."
	case connect.Other:
		out.Title, out.Text = "This is another account", "The account that you connected before was another one. Nothing is synced until somebody has confirmed the change; or connect the former account."
	case connect.Refused:
		out.Title, out.Text = "Not connected", "Access was not allowed."
	case connect.Taken:
		out.Title, out.Text = "One moment", "Your account is being connected. Reload this page in a moment."
	default:
		out.Title, out.Text = "Not connected", "Something went wrong: go back and try again."
	}
	if out.Back == "" {
		out.Text += " You can close this page."
	}
	return out
}
