package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/syncdhq/syncd/internal/config"
	"github.com/syncdhq/syncd/internal/store"
)

// errConfigured: the configuration has the source, so it can't be added, changed
// or removed at run time.
var errConfigured = errors.New("the source is in the configuration")

// declare adds a source at run time, or changes one that was, and reports
// whether it is new. A source whose user must connect first waits for that.
func (f *fleet) declare(ctx context.Context, key store.Key, declaration string) (src *config.Source, added bool, err error) {
	now := f.force.Load()
	if _, ok := now.sources[key]; ok {
		return nil, false, fmt.Errorf("%w: %s (%s): change it there", errConfigured, key, now.cfg.Path)
	}
	if src, err = now.cfg.Declare(key.User, key.Provider, declaration); err != nil {
		return nil, false, err
	}
	before, err := oneSource(ctx, f.store, key)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, false, err
	}
	added = err != nil
	at, err := f.store.Now(ctx)
	if err != nil {
		return nil, false, err
	}
	spec := specOf(src, at)
	waits := false
	if added || before.Declared == "" {
		if waits, err = f.waitsForUser(ctx, src); err != nil {
			return nil, false, err
		}
	}
	if waits {
		spec.DueAt = spec.SpreadAt
	}
	if err := f.store.Add(ctx, spec); err != nil {
		return nil, false, err
	}
	if waits {
		_, err = f.store.Pause(ctx, key, store.PausedAuth)
	}
	return src, added, err
}

// redeclare takes over what a new configuration means for the sources that were
// added at run time: the schedule of their provider, where they have none of
// their own. Those that no longer fit are left as they are; why says so.
func (f *fleet) redeclare(ctx context.Context) error {
	now, err := f.store.Now(ctx)
	if err != nil {
		return err
	}
	for row, err := range sourcesOf(ctx, f.store, store.SourceFilter{Declared: true}) {
		if err != nil {
			return err
		}
		src, err := f.force.Load().source(row.Key, row.Declared)
		if err != nil {
			f.force.Load().complain(f.log, row.Key, err)
			continue
		}
		if spec := specOf(src, now); spec.Schedule != row.Schedule || spec.Connector != row.Connector || (spec.Full == "") != row.FullAt.IsZero() {
			if err := f.store.Add(ctx, spec); err != nil {
				return err
			}
		}
	}
	return nil
}

// waitsForUser reports whether a source can't be run before its user connects.
func (f *fleet) waitsForUser(ctx context.Context, src *config.Source) (bool, error) {
	if w := wayOf(src.Of); w == byNobody || w == byItself || src.Of.Connector.Auth.Optional {
		return false, nil
	}
	_, err := f.store.Credential(ctx, keyOf(src))
	if errors.Is(err, store.ErrNotFound) {
		return true, nil
	}
	return false, err
}

// A declaration is what `syncd sources add` was given.
type declaration struct {
	json, schedule, timezone string
	options                  []string
}

// text returns it as a JSON object for config.Declare.
func (d declaration) text() (string, error) {
	all := map[string]any{}
	if d.json != "" {
		if err := json.Unmarshal([]byte(d.json), &all); err != nil || all == nil {
			return "", usageError{errors.New(`--json is no JSON object, such as {"options": {"repo": "robfig/cron"}}`)}
		}
	}
	options := map[string]any{}
	for _, text := range d.options {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return "", usageError{fmt.Errorf("--option %s: write it as NAME=VALUE", text)}
		}
		if !json.Valid([]byte(value)) {
			options[name] = value
		} else {
			options[name] = json.RawMessage(value)
		}
	}
	for name, value := range map[string]string{"schedule": d.schedule, "timezone": d.timezone} {
		if value != "" {
			all[name] = value
		}
	}
	if len(options) > 0 {
		if all["options"] != nil {
			return "", usageError{errors.New("options are in --json already: leave --option away")}
		}
		all["options"] = options
	}
	text, err := json.Marshal(all)
	return string(text), err
}

func (a *app) sourcesAdd() *cobra.Command {
	var d declaration
	c := &cobra.Command{
		Use:   "add USER PROVIDER",
		Short: "Add a source beside those of the configuration, or change it",
		Long: `Add a source beside those of the configuration, or change one that was added so.
It is kept in the store, and all daemons run it. Its provider must be in the
configuration; a source that is there can't be added too. A user who must connect
an account does so next: syncd connect.

An option's value is JSON where it can be read so, else a text.`,
		Example: `  syncd sources add alice github --option repo=robfig/cron
  syncd sources add alice github@work --option repo=acme/app --schedule "@hourly" --timezone Europe/Berlin
  syncd sources add alice desk --json '{"options": {"size": 50}}'
  syncd connect alice github`,
		Args: takes("USER", "PROVIDER"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.addSource(c.Context(), store.Key{User: args[0], Provider: args[1]}, d)
		},
	}
	c.Flags().StringArrayVar(&d.options, "option", nil, "what to read, over the provider's options: `NAME=VALUE`")
	c.Flags().StringVar(&d.schedule, "schedule", "", "when to sync; the provider's without it")
	c.Flags().StringVar(&d.timezone, "timezone", "", "of the schedule")
	c.Flags().StringVar(&d.json, "json", "", "all of it as one `OBJECT`, with the keys of a source in the configuration")
	return c
}

func (a *app) addSource(ctx context.Context, key store.Key, d declaration) error {
	text, err := d.text()
	if err != nil {
		return err
	}
	return a.withFleet(ctx, func(f *fleet) error {
		src, added, err := f.declare(ctx, key, text)
		if wrong, ok := errors.AsType[config.Errors](err); ok {
			return usageError{wrong}
		}
		if err != nil {
			return err
		}
		row, err := oneSource(ctx, f.store, key)
		if err != nil {
			return err
		}
		said := "changed"
		if added {
			said = "added"
		}
		now, err := f.store.Now(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintf(a.Out, "%s %s: %s\n", said, oneLine(key.String()), oneLine(pauseSaid(row, row.Paused, now)))
		if way := wayOf(src.Of); len(row.Paused) > 0 && way != byNobody {
			fmt.Fprintf(a.Out, "its user connects by: syncd connect %s\n", oneLine(key.String()))
		}
		return nil
	})
}
