package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/connectors/rest"
	"github.com/syncdhq/syncd/internal/config"
	"github.com/syncdhq/syncd/internal/store"
	"github.com/syncdhq/syncd/internal/vault"
)

// A tryRequest is what `syncd connectors try` was asked for.
type tryRequest struct {
	stream      string
	part        string
	since       string
	baseURL     string
	params      []string
	credentials []string
	sample      int
}

func (a *app) connectorsTry() *cobra.Command {
	var req tryRequest
	var out output
	c := &cobra.Command{
		Use:   "try FILE | USER PROVIDER",
		Short: "Read one page of each stream, and show what came",
		Long: `Read one page of each stream of a provider file, or of a source of the
configuration, and show what was asked, what came, which ids and marks were
found in it, and what would be set aside. Nothing is written.`,
		Example: `  syncd connectors try providers/tickets.yaml
  syncd connectors try providers/tickets.yaml --param team=blue --credential token='${TICKETS_TOKEN}'
  syncd connectors try providers/tickets.yaml --stream tickets --since 2026-01-31T00:00:00Z
  syncd connectors try alice github --stream issues`,
		Args: func(_ *cobra.Command, args []string) error {
			switch len(args) {
			case 1:
				return notEmpty([]string{"FILE"}, args)
			case 2:
				return notEmpty([]string{"USER", "PROVIDER"}, args)
			}
			return fmt.Errorf("expected FILE or USER PROVIDER, got %s", count(len(args), "argument"))
		},
		RunE: func(c *cobra.Command, args []string) error {
			if req.sample < 0 {
				return usageError{fmt.Errorf("--sample %d is below 0", req.sample)}
			}
			return a.try(c.Context(), args, req, out)
		},
	}
	c.Flags().StringVar(&req.stream, "stream", "", "try this `stream` only")
	c.Flags().StringVar(&req.part, "part", "", "try this `part` of streams that are read in parts; without it, the first")
	c.Flags().StringVar(&req.since, "since", "", "ask for what changed since this `time` or sequence number; without it, for everything")
	c.Flags().StringVar(&req.baseURL, "base-url", "", "ask this `URL` instead of the file's")
	c.Flags().StringArrayVar(&req.params, "param", nil, "set a param of the file: `NAME=VALUE`")
	c.Flags().StringArrayVar(&req.credentials, "credential", nil, "a credential as `NAME='${VARIABLE}'`, from the environment")
	c.Flags().IntVar(&req.sample, "sample", 1, "show so many records of each stream in full")
	out.flag(c)
	return c
}

func (a *app) try(ctx context.Context, args []string, req tryRequest, out output) error {
	cfg, src, err := a.tried(ctx, args, req)
	if err != nil {
		return err
	}
	f := newFleet(nil, newLog(io.Discard, cfg.Log))
	defer f.close()
	if err := f.serveDemo(src.Of); err != nil {
		return err
	}
	if len(src.Credentials) == 0 && (src.Declared != "" || connects(src.Of)) {
		s, err := a.existing(ctx, cfg)
		if err != nil {
			return err
		}
		defer s.Close()
		f.store = s
		if err := f.openAccounts(ctx, a, cfg); err != nil {
			return err
		}
	}
	t, err := newTrial(ctx, f, cfg, src)
	if err != nil {
		return err
	}
	results, err := t.run(ctx, req)
	if err != nil {
		return err
	}
	if err := out.print(a.Out, results, func(w io.Writer) { printTrials(w, results) }); err != nil {
		return err
	}
	return verdictOf(results)
}

// verdictOf is the exit of a trial: failed where a stream could not be read,
// rejected where a record would be.
func verdictOf(results []trialResult) error {
	if slices.ContainsFunc(results, func(r trialResult) bool { return r.Error != "" }) {
		return errSilent
	}
	if slices.ContainsFunc(results, func(r trialResult) bool { return len(r.Rejects) > 0 }) {
		return errRejected
	}
	return nil
}

// tried returns the source that is to be tried: of the configuration, or made
// of a provider file and flags.
func (a *app) tried(ctx context.Context, args []string, req tryRequest) (*config.Config, *config.Source, error) {
	if len(args) == 1 {
		return a.triedFile(args[0], req)
	}
	if len(req.params) > 0 || len(req.credentials) > 0 || req.baseURL != "" {
		return nil, nil, usageError{errors.New("--param, --credential and --base-url go with a provider file: a source has its own in the configuration")}
	}
	cfg, err := a.load()
	if err != nil {
		return nil, nil, err
	}
	key := store.Key{User: args[0], Provider: args[1]}
	s, err := a.lookAt(ctx, cfg)
	if err != nil && !errors.Is(err, errNoStore) {
		return nil, nil, err
	}
	var rows store.Catalog // none yet
	if s != nil {
		defer s.Close()
		rows = s
	}
	src, err := find(ctx, cfg, rows, key)
	return cfg, src, err
}

func (a *app) triedFile(path string, req tryRequest) (*config.Config, *config.Source, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, usageError{fmt.Errorf("provider file: %w", err)}
	}
	c, err := config.FromFile(path, data, a.connectors, a.env)
	if err != nil {
		return nil, nil, err
	}
	o, ok := c.Options().(*rest.Options)
	if !ok {
		return nil, nil, usageError{fmt.Errorf("%s: only provider files can be tried so", path)}
	}
	if err := setParams(o, req.params); err != nil {
		return nil, nil, usageError{err}
	}
	credentials, err := a.triedCredentials(c.Auth, req.credentials)
	if err != nil {
		return nil, nil, usageError{err}
	}
	p := &config.Provider{Name: c.Name, Connector: c, BaseURL: or(req.baseURL, c.BaseURL)}
	if p.BaseURL == "" {
		return nil, nil, usageError{fmt.Errorf("%s has no base_url: name one with --base-url URL", path)}
	}
	return &config.Config{}, &config.Source{User: "try", Provider: c.Name, Of: p, Options: o, Credentials: credentials}, nil
}

func setParams(o *rest.Options, pairs []string) error {
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			return fmt.Errorf("--param %s: write it as NAME=VALUE", pair)
		}
		if _, known := o.Params[name]; !known {
			return fmt.Errorf("--param %s: the file declares no param %q", pair, name)
		}
		o.Params[name] = value
	}
	return nil
}

// triedCredentials reads credentials from the environment. A command line can
// be read by everybody on the machine, so a secret must not stand in it.
func (a *app) triedCredentials(auth syncd.Auth, pairs []string) (map[string]vault.Secret, error) {
	keys := credentialKeys(auth)
	out := map[string]vault.Secret{}
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		variable, ok := strings.CutPrefix(value, "${")
		variable, closed := strings.CutSuffix(variable, "}")
		if !ok || !closed {
			return nil, fmt.Errorf("--credential %s: write it as %s='${VARIABLE}', and the secret into that environment variable: everybody on the machine can read a command line", name, name)
		}
		if !slices.Contains(keys, name) {
			return nil, fmt.Errorf("--credential %s: requests are signed by %s, which takes %s", name, or(string(auth.Scheme), "nothing"), or(strings.Join(keys, " and "), "no credentials"))
		}
		secret, set := a.env(variable)
		if !set || secret == "" {
			return nil, fmt.Errorf("--credential %s: the environment variable %s is not set", name, variable)
		}
		out[name] = vault.NewSecret(secret)
	}
	if len(out) == 0 && len(keys) > 0 && !auth.Optional {
		var want []string
		for _, k := range keys {
			want = append(want, fmt.Sprintf("--credential %s='${%s}'", k, strings.ToUpper(k)))
		}
		return nil, fmt.Errorf("requests are signed by %s: add %s", auth.Scheme, strings.Join(want, " "))
	}
	return out, nil
}

func printTrials(w io.Writer, results []trialResult) {
	for i, r := range results {
		if i > 0 {
			fmt.Fprintln(w)
		}
		printTrial(w, r)
	}
}

func printTrial(w io.Writer, r trialResult) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "  %-9s%s\n", name, oneLine(fmt.Sprintf(format, args...)))
	}
	fmt.Fprintln(w, oneLine(r.Stream))
	if r.Part != "" {
		line("part", "%s, one of %d", r.Part, r.Parts)
	}
	for _, e := range r.Asked {
		line("asked", "%s %s", e.Method, e.URL)
		line("came", "%s", e.Came)
	}
	if r.Error != "" {
		fmt.Fprintf(w, "  %-9s%s\n", "error", block(r.Error, "           "))
		return
	}
	found := count(r.Records, "record")
	if r.Deleted > 0 {
		found += fmt.Sprintf(", %d of them deleted", r.Deleted)
	}
	line("found", "%s", found)
	if len(r.IDs) > 0 {
		line("ids", "%s", strings.Join(r.IDs, ", "))
	}
	line("marks", "%s", r.Marks)
	line("next", "%s", r.Goes)
	for _, j := range r.Rejects {
		line("reject", "%s", j)
	}
	for _, p := range r.Doubts {
		line("doubt", "%s", p)
	}
	for _, s := range r.Samples {
		line("record", "%s", clip(s, 2000))
	}
}

// roughly spells a size of bytes for people.
func roughly(n int) string {
	switch {
	case n < 10<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 10<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}

// parseSince reads a bound for a stream.
func parseSince(text string, sequence bool) (syncd.Mark, error) {
	switch {
	case text == "":
		return 0, nil
	case sequence:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			return 0, fmt.Errorf("--since %s: the stream's marks are sequence numbers", text)
		}
		return syncd.Mark(n), nil
	}
	m, err := syncd.ParseTime(text, time.UTC)
	if err != nil {
		return 0, fmt.Errorf("--since: %w", err)
	}
	return m, nil
}
