package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/config"
	"github.com/syncdhq/syncd/internal/schedule"
	"github.com/syncdhq/syncd/internal/store"
)

// How many fire times `syncd next` shows if it is not told, and at most.
const (
	usualFires = 5
	allSources = 20
	maxFires   = 10_000
)

// A nextRequest is what `syncd next` was asked for.
type nextRequest struct {
	key        store.Key // the zero key is all sources
	expr, zone string    // of --schedule and --timezone
	from       string
	count      int // 0 is not given
	output
}

func (a *app) nextCommand() *cobra.Command {
	var req nextRequest
	c := &cobra.Command{
		Use:   "next [USER PROVIDER]",
		Short: "Show the coming fire times of a source or of an expression",
		Long: `Show the coming fire times: of one source, of all sources together (one line
each), or of an expression that is in no configuration yet. They come from the
very code that the daemon uses, daylight saving included, and for a source that
the daemon knows from where its schedule stands in the store.

AT is the time by the schedule. DUE adds the source's own share of the spread,
so that sources with the same schedule do not all start at once.`,
		Example: `  syncd next                                   what is due next, of all sources
  syncd next alice github -n 10
  syncd next --schedule "30 2 * * *" --timezone Europe/Berlin
  syncd next --schedule "0 9 * * MON" --from 2027-03-27T00:00:00Z -n 3 -o json`,
		ValidArgsFunction: a.completeSource,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 0 && len(args) != 2 {
				return fmt.Errorf("expected USER PROVIDER or nothing, got %s", count(len(args), "argument"))
			}
			return notEmpty([]string{"USER", "PROVIDER"}, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := req.check(c, args); err != nil {
				return usageError{err}
			}
			if c.Flags().Changed("schedule") {
				return a.nextOfExpression(req)
			}
			if len(args) == 2 {
				req.key = store.Key{User: args[0], Provider: args[1]}
			}
			return a.nextOfSources(c.Context(), req)
		},
	}
	c.Flags().StringVar(&req.expr, "schedule", "", "a cron `EXPRESSION` instead of a source")
	c.Flags().StringVar(&req.zone, "timezone", "UTC", "the `ZONE` of --schedule, such as Europe/Berlin")
	c.Flags().StringVar(&req.from, "from", "", "the fire times after this `TIME`, such as 2027-03-27T00:00:00Z (default now)")
	c.Flags().IntVarP(&req.count, "count", "n", 0, fmt.Sprintf("`COUNT` fire times (default %d; of all sources %d, with -o json all)", usualFires, allSources))
	for _, flag := range []string{"schedule", "timezone", "from", "count"} {
		complete(c, flag, words())
	}
	req.output.flag(c)
	return c
}

// check refuses what contradicts itself.
func (r *nextRequest) check(c *cobra.Command, args []string) error {
	given := c.Flags().Changed
	switch {
	case given("schedule") && len(args) > 0:
		return errors.New("--schedule is instead of USER PROVIDER, not beside it")
	case given("timezone") && !given("schedule"):
		return errors.New("--timezone is for --schedule: a source has its own")
	case given("count") && (r.count < 1 || r.count > maxFires):
		return fmt.Errorf("-n %d: it is 1 to %d", r.count, maxFires)
	}
	return nil
}

// start returns when to begin: --from, in the zone where it names no offset, or now.
func (r *nextRequest) start(zone *time.Location, now time.Time) (time.Time, error) {
	if r.from == "" {
		return now, nil
	}
	if t, err := time.Parse(time.RFC3339Nano, r.from); err == nil {
		return t, nil
	}
	m, err := syncd.ParseTime(r.from, zone)
	if err != nil {
		return time.Time{}, usageError{fmt.Errorf("--from %q: expected a time such as %s, or %s in the schedule's zone",
			r.from, now.UTC().Format(time.RFC3339), now.Format(time.DateOnly))}
	}
	return m.Time(), nil
}

func (a *app) nextOfExpression(req nextRequest) error {
	zone, err := time.LoadLocation(req.zone)
	if err != nil || req.zone == "" || req.zone == "Local" { // as in the configuration
		return usageError{fmt.Errorf("--timezone %q is not a time zone: write one such as UTC or Europe/Berlin", req.zone)}
	}
	s, err := schedule.Parse(req.expr, zone)
	if err != nil {
		return usageError{err}
	}
	now := time.Now()
	from, err := req.start(zone, now)
	if err != nil {
		return err
	}
	for _, w := range s.Warnings() {
		fmt.Fprintf(a.Err, "note: %s\n", oneLine(w))
	}
	fires := []fire{}
	for at := s.Next(from); len(fires) < req.most(usualFires) && !at.IsZero(); at = s.Next(at) {
		fires = append(fires, fireAt(at, zone))
	}
	return req.print(a.Out, fires, func(w io.Writer) { printFires(w, fires, zone, now) })
}

// most returns how many fire times to show.
func (r *nextRequest) most(usual int) int {
	if r.count > 0 {
		return r.count
	}
	return usual
}

// nextOfSources shows the fire times of one source, or of all.
func (a *app) nextOfSources(ctx context.Context, req nextRequest) error {
	cfg, err := a.load()
	if err != nil {
		return err
	}
	t := times{cfg: cfg, now: time.Now(), zone: time.Local}
	var rows store.Catalog // none yet
	s, err := a.lookAt(ctx, cfg)
	if err == nil {
		defer s.Close()
		rows = s
		if req.from == "" { // else the store, which knows of now, has nothing to say
			t.store = s
			t.now, err = s.Now(ctx)
		}
	}
	if err != nil && !errors.Is(err, errNoStore) {
		return err
	}
	var src *config.Source
	if req.key != (store.Key{}) {
		if src, err = find(ctx, cfg, rows, req.key); err != nil {
			return err
		}
		t.zone = src.Timezone
	}
	if t.from, err = req.start(t.zone, t.now); err != nil {
		return err
	}
	var fires []fire
	switch {
	case req.key == store.Key{}:
		most := req.most(allSources)
		if req.count == 0 && req.format == "json" {
			most = 0
		}
		fires, err = t.all(ctx, most)
	default:
		fires, err = t.one(ctx, src, req.most(usualFires))
	}
	if err != nil {
		return err
	}
	for _, note := range t.notes {
		fmt.Fprintf(a.Err, "note: %s\n", oneLine(note))
	}
	return req.print(a.Out, fires, func(w io.Writer) {
		if (req.key == store.Key{}) {
			printDue(w, fires, t.now)
			return
		}
		printFires(w, fires, t.zone, t.now)
	})
}
