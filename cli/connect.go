package cli

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"html/template"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os/exec"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/syncdhq/syncd/internal/account"
	"github.com/syncdhq/syncd/internal/config"
	"github.com/syncdhq/syncd/internal/oauth"
	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/vault"
)

// A connectRequest is what `syncd connect` was asked for.
type connectRequest struct {
	key       store.Key
	device    bool
	noBrowser bool
	listen    string
}

func (a *app) connectCommand() *cobra.Command {
	req := connectRequest{listen: "127.0.0.1:8401"}
	c := &cobra.Command{
		Use:   "connect USER PROVIDER",
		Short: "Connect a user's account at a provider",
		Long: `Connect a user's account at a provider. With OAuth 2 the provider asks for consent
in a browser, and syncd keeps what it grants, sealed. An API key, or a name and a
password, is asked for here (or read from standard input, a line each), tried at
the provider, and kept sealed. The source is due at once; one that was paused for
this goes on.

The provider must know the address that the browser comes back to. It is
http://127.0.0.1:8401/callback, or what --listen says. On a server without a
browser use --device, or open the printed address elsewhere with a tunnel.`,
		Example: `  syncd connect alice google_calendar
  syncd connect alice google_calendar --device        where there is no browser
  syncd connect alice google_calendar --no-browser    print the address only
  syncd connect alice stripe < key.txt                an API key, of a source that was added by sources add`,
		Args:              takes("USER", "PROVIDER"),
		ValidArgsFunction: a.completeSource,
		RunE: func(c *cobra.Command, args []string) error {
			req.key = store.Key{User: args[0], Provider: args[1]}
			return a.connectAccount(c.Context(), req)
		},
	}
	c.Flags().BoolVar(&req.device, "device", false, "show a code to enter on another device")
	c.Flags().BoolVar(&req.noBrowser, "no-browser", false, "do not open a browser")
	c.Flags().StringVar(&req.listen, "listen", req.listen, "the `address` that the browser comes back to")
	return c
}

// withSource opens the store, the accounts and one source.
func (a *app) withSource(ctx context.Context, key store.Key, do func(f *fleet, src *config.Source) error) error {
	return a.withFleet(ctx, func(f *fleet) error {
		src, err := find(ctx, f.config(), f.store, key)
		if err != nil {
			return err
		}
		return do(f, src)
	})
}

func (a *app) connectAccount(ctx context.Context, req connectRequest) error {
	return a.withSource(ctx, req.key, func(f *fleet, src *config.Source) error {
		if len(src.Credentials) > 0 {
			return usageError{fmt.Errorf("the source %s has a token in the configuration, which counts: take it out of credentials: first", req.key)}
		}
		if err := connectable(src); err != nil {
			return err
		}
		if err := a.consent(ctx, f, src, req); err != nil {
			return err
		}
		fmt.Fprintf(a.Out, "connected %s: its next run is due now\n", req.key)
		return nil
	})
}

// connectable refuses a source whose user has nothing to connect.
func connectable(src *config.Source) error {
	if wayOf(src.Of) == byNobody {
		return usageError{fmt.Errorf("users of %s do not connect: its connector %s signs nothing", src.Of.Name, src.Of.Connector.Name)}
	}
	if src.Declared == "" && !connects(src.Of) {
		return usageError{fmt.Errorf("the source %s is in the configuration, and its connector %s takes credentials: from there (users connect where there is oauth: under the provider, and sources that were added by syncd sources add)", keyOf(src), src.Of.Connector.Name)}
	}
	return nil
}

// consent asks the user for consent and stores what is granted.
func (a *app) consent(ctx context.Context, f *fleet, src *config.Source, req connectRequest) error {
	switch wayOf(src.Of) {
	case byToken, byName:
		return a.askKeys(ctx, f, src)
	case byItself:
		token, err := f.authorizer(src.Of, "").ClientCredentials(ctx)
		if err != nil {
			return err
		}
		return f.connected(ctx, src, account.Connection{Token: token})
	}
	if req.device {
		return a.consentByDevice(ctx, f, src)
	}
	if src.Of.OAuth.AuthURL == "" {
		return usageError{fmt.Errorf("it is not known where users of %s consent: write auth_url under oauth:, or use --device", src.Of.Name)}
	}
	return a.consentInBrowser(ctx, f, src, req)
}

// consentByDevice is the device flow (RFC 8628).
func (a *app) consentByDevice(ctx context.Context, f *fleet, src *config.Source) error {
	if src.Of.OAuth.DeviceURL == "" {
		return usageError{fmt.Errorf("it is not known where %s begins the device flow: write device_url under oauth:, if it has one", src.Of.Name)}
	}
	client := f.authorizer(src.Of, "")
	code, err := client.Device(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "Open %s on any device, and enter the code %s\n", oneLine(code.URL), oneLine(code.UserCode))
	if code.Complete != "" {
		fmt.Fprintf(a.Out, "or open %s\n", oneLine(code.Complete))
	}
	token, err := client.Await(ctx, code)
	if err != nil {
		return err
	}
	return f.connected(ctx, src, account.Connection{Token: token})
}

// consentWithin is how long a user has for it.
const consentWithin = 15 * time.Minute

// consentInBrowser is the authorization code flow with PKCE (RFC 7636), in
// which the browser comes back to this process (RFC 8252, section 7.3).
func (a *app) consentInBrowser(ctx context.Context, f *fleet, src *config.Source, req connectRequest) error {
	host, _, err := net.SplitHostPort(req.listen)
	if err != nil || !config.Loopback(host) {
		return usageError{fmt.Errorf("--listen %s: write it as 127.0.0.1:PORT: what the browser brings back is for this machine alone", req.listen)}
	}
	l, err := net.Listen("tcp", req.listen)
	if err != nil {
		return fmt.Errorf("wait for the browser: %w (--listen names another address, which the provider must know)", err)
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return err
	}
	// As it was written: providers compare the address letter by letter.
	client := f.authorizer(src.Of, "http://"+net.JoinHostPort(host, port)+"/callback")
	back := newCallback(src.Provider)
	verifier := oauth.NewVerifier()
	server := &http.Server{Handler: back, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	go server.Serve(l)
	defer endServer(server)
	address := client.AuthCodeURL(back.state, verifier)
	fmt.Fprintf(a.Out, "Open this address to connect %s:\n\n  %s\n\n", keyOf(src), address)
	if !req.noBrowser {
		openBrowser(ctx, address)
	}
	waiting, cancel := context.WithTimeout(ctx, consentWithin)
	defer cancel()
	select {
	case <-waiting.Done():
		if ctx.Err() != nil {
			return fmt.Errorf("wait for the browser: %w", ctx.Err())
		}
		return fmt.Errorf("nobody consented within %s", span(consentWithin))
	case answer := <-back.answers:
		token, err := answer.token(ctx, client, back, verifier)
		if err == nil {
			err = f.connected(ctx, src, account.Connection{Token: token})
		}
		answer.told <- err
		return err
	}
}

// endServer lets a browser have its page to the end.
func endServer(server *http.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = server.Shutdown(ctx) // what is not done by then is cut off
	server.Close()
}

// openBrowser opens an address if there is something to open it with.
func openBrowser(ctx context.Context, address string) {
	name, args := "xdg-open", []string{address}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", address}
	}
	if path, err := exec.LookPath(name); err == nil {
		_ = exec.CommandContext(ctx, path, args...).Start() // the address is printed in any case
	}
}

// A callback is where the browser comes back to, once.
type callback struct {
	provider string
	state    string
	answers  chan answer
}

// An answer is what a browser brought back.
type answer struct {
	code, refused string
	told          chan error // what came of it
}

func newCallback(provider string) *callback {
	return &callback{provider: provider, state: rand.Text(), answers: make(chan answer)}
}

// ServeHTTP implements http.Handler.
func (c *callback) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Referrer-Policy", "no-referrer") // the address holds the code
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	w.Header().Set("Cache-Control", "no-store")
	q := r.URL.Query()
	switch {
	case r.URL.Path != "/callback":
		http.NotFound(w, r)
		return
	case subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(c.state)) != 1:
		w.WriteHeader(http.StatusBadRequest)
		page(w, "This is not the answer that is waited for", "It belongs to another attempt to connect. Begin again with the address that syncd shows now.")
		return
	}
	a := answer{code: q.Get("code"), refused: q.Get("error"), told: make(chan error, 1)}
	select {
	case c.answers <- a:
	case <-r.Context().Done():
		return
	}
	if err := <-a.told; err != nil {
		w.WriteHeader(http.StatusBadGateway)
		page(w, "The account is not connected", err.Error())
	} else {
		page(w, "Connected", "The account at "+c.provider+" is connected. You can close this page.")
	}
}

// token turns what the browser brought into a token.
func (a answer) token(ctx context.Context, client *oauth.Client, back *callback, verifier vault.Secret) (oauth.Token, error) {
	switch {
	case a.refused != "":
		return oauth.Token{}, fmt.Errorf("the provider %s says %s", back.provider, clip(a.refused, 100))
	case a.code == "":
		return oauth.Token{}, fmt.Errorf("the provider %s sent the browser back without a code", back.provider)
	}
	return client.Exchange(ctx, a.code, verifier)
}

var pageTemplate = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{{.Title}}</title>
<style>body { font: 16px/1.5 system-ui, sans-serif; max-width: 32em; margin: 20vh auto; padding: 0 1em; color: #222 }</style>
<h1>{{.Title}}</h1>
<p>{{.Text}}</p>
</html>
`))

func page(w io.Writer, title, text string) {
	_ = pageTemplate.Execute(w, struct{ Title, Text string }{title, text}) // the browser went away
}
