package cli

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/syncdhq/syncd/internal/config"
	"github.com/syncdhq/syncd/internal/schedule"
	"github.com/syncdhq/syncd/internal/scheduler"
	"github.com/syncdhq/syncd/internal/store"
)

// A fire is a time at which a schedule is due.
type fire struct {
	At       time.Time  `json:"at"`
	Due      *time.Time `json:"due,omitempty"` // with the source's share of the spread
	User     string     `json:"user,omitempty"`
	Provider string     `json:"provider,omitempty"`
}

// maxFires is how many times `syncd next` computes at most.
const maxFires = 10_000

type nextRequest struct {
	expr, zone, from string
	count            int
	key              store.Key
}

func (a *app) nextCommand() *cobra.Command {
	var req nextRequest
	var out output
	c := &cobra.Command{
		Use:   "next [USER PROVIDER]",
		Short: "Show the coming fire times of a source or of an expression",
		Long: `Show the coming fire times: of one source, of all sources, or of an expression
that is in no configuration yet. They are computed by the very code that the
daemon uses, daylight saving included. DUE adds the source's own share of the
spread, so that sources with the same schedule do not all start at once.`,
		Example: `  syncd next
  syncd next alice github -n 10
  syncd next --schedule "30 2 * * *" --timezone Europe/Berlin
  syncd next --schedule "0 9 * * 1" --from 2027-03-27T00:00:00Z -n 3 -o json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 0 && len(args) != 2 {
				return fmt.Errorf("expected USER PROVIDER or nothing, got %d arguments", len(args))
			}
			return nil
		},
		ValidArgsFunction: a.completeSource,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 2 {
				req.key = store.Key{User: args[0], Provider: args[1]}
			}
			fires, zone, err := a.fires(req, time.Now())
			if err != nil {
				return err
			}
			return out.print(a.Out, fires, func(w io.Writer) { printFires(w, fires, zone) })
		},
	}
	c.Flags().StringVar(&req.expr, "schedule", "", "a cron `expression` instead of a source")
	c.Flags().StringVar(&req.zone, "timezone", "UTC", "the `zone` of --schedule")
	c.Flags().StringVar(&req.from, "from", "", "the fire times after this `time`, in RFC 3339 (default now)")
	c.Flags().IntVarP(&req.count, "count", "n", 5, "`N` fire times")
	out.flag(c)
	return c
}

// fires returns what was asked for, and the zone to show it in.
func (a *app) fires(req nextRequest, now time.Time) ([]fire, *time.Location, error) {
	if req.count < 1 || req.count > maxFires {
		return nil, nil, usageError{fmt.Errorf("-n %d: it is 1 to %d", req.count, maxFires)}
	}
	from := now
	if req.from != "" {
		var err error
		if from, err = time.Parse(time.RFC3339Nano, req.from); err != nil {
			return nil, nil, usageError{fmt.Errorf("--from %q: expected a time such as %s", req.from, now.UTC().Format(time.RFC3339))}
		}
	}
	if req.expr != "" {
		return expressionFires(req, from)
	}
	cfg, err := a.load()
	if err != nil {
		return nil, nil, err
	}
	if req.key == (store.Key{}) {
		return allFires(cfg, from, req.count), time.Local, nil
	}
	src, ok := configured(cfg)[req.key]
	if !ok {
		return nil, nil, fmt.Errorf("there is no source %s in %s", req.key, cfg.Path)
	}
	return sourceFires(src, from, req.count), src.Timezone, nil
}

func expressionFires(req nextRequest, from time.Time) ([]fire, *time.Location, error) {
	if req.key != (store.Key{}) {
		return nil, nil, usageError{fmt.Errorf("--schedule is instead of USER PROVIDER, not beside it")}
	}
	zone, err := time.LoadLocation(req.zone)
	if err != nil {
		return nil, nil, usageError{fmt.Errorf("--timezone %q: no such zone; expected a name such as Europe/Berlin", req.zone)}
	}
	s, err := schedule.Parse(req.expr, zone)
	if err != nil {
		return nil, nil, usageError{fmt.Errorf("--schedule: %w", err)}
	}
	fires := []fire{}
	for at := s.Next(from); len(fires) < req.count && !at.IsZero(); at = s.Next(at) {
		fires = append(fires, fire{At: at.In(zone)})
	}
	return fires, zone, nil
}

// sourceFires returns the coming fire times of one source.
func sourceFires(src *config.Source, from time.Time, n int) []fire {
	table, key := timetable(src), keyOf(src)
	fires := []fire{}
	for at := table.Schedule.Next(from); len(fires) < n && !at.IsZero(); at = table.Schedule.Next(at) {
		fires = append(fires, fireOf(table, key, at, src.Timezone))
	}
	return fires
}

func fireOf(table scheduler.Timetable, key store.Key, at time.Time, zone *time.Location) fire {
	due := table.Due(key, at).In(zone)
	return fire{At: at.In(zone), Due: &due, User: key.User, Provider: key.Provider}
}

// allFires returns the next fire times of all sources together, soonest first.
func allFires(cfg *config.Config, from time.Time, n int) []fire {
	fires := []fire{}
	for _, src := range cfg.Sources {
		table := timetable(src)
		if at := table.Schedule.Next(from); !at.IsZero() {
			fires = append(fires, fireOf(table, keyOf(src), at, src.Timezone))
		}
	}
	slices.SortStableFunc(fires, func(x, y fire) int { return x.Due.Compare(*y.Due) })
	return fires[:min(n, len(fires))]
}

func printFires(w io.Writer, fires []fire, zone *time.Location) {
	if len(fires) == 0 {
		fmt.Fprintln(w, "nothing is ever due")
		return
	}
	header := []string{"AT"}
	if fires[0].Due != nil {
		header = []string{"AT", "DUE", "USER", "PROVIDER"}
	}
	var rows [][]string
	for _, f := range fires {
		row := []string{inZone(f.At, zone)}
		if f.Due != nil {
			row = append(row, f.Due.In(zone).Format("15:04:05"), f.User, f.Provider)
		}
		rows = append(rows, row)
	}
	tabulate(w, header, rows)
}
