package cli

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/syncdhq/syncd/internal/config"
)

// A checkReport is what `syncd check -o json` prints of a configuration that is right.
type checkReport struct {
	Config    string          `json:"config"`
	Store     string          `json:"store"`
	Sources   int             `json:"sources"`
	Providers []checkProvider `json:"providers"`
	Warnings  []config.Error  `json:"warnings"`
}

type checkProvider struct {
	Provider  string      `json:"provider"`
	Connector string      `json:"connector"`
	Schedule  string      `json:"schedule,omitempty"`
	Next      []time.Time `json:"next,omitempty"`
	Sources   int         `json:"sources"`
}

func (a *app) checkCommand() *cobra.Command {
	var out output
	c := &cobra.Command{
		Use:   "check",
		Short: "Look the configuration over",
		Long: `Look the configuration over, as the daemon would before it takes it.

Every error is listed at once as FILE:LINE:COLUMN: message, and the exit code is
2. If there is none, it says what the configuration comes to and when each
provider is due next. No provider is asked and no store is opened.`,
		Example: `  syncd check
  syncd check --config new.yaml && mv new.yaml /etc/syncd/config.yaml
  syncd check -o json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := a.load()
			if err != nil {
				return err
			}
			for _, w := range cfg.Warnings {
				fmt.Fprintf(a.Err, "%s\n", oneLine("warning: "+w.Error()))
			}
			r := report(cfg, time.Now())
			return out.print(a.Out, r, func(w io.Writer) { printCheck(w, r) })
		},
	}
	out.flag(c)
	return c
}

// report says what a configuration comes to.
func report(cfg *config.Config, now time.Time) checkReport {
	r := checkReport{Config: cfg.Path, Store: cfg.StoreName(), Sources: len(cfg.Sources), Providers: []checkProvider{}, Warnings: cfg.Warnings}
	sources := map[string]int{}
	for _, s := range cfg.Sources {
		sources[s.Of.Name]++
	}
	for _, p := range cfg.Providers {
		one := checkProvider{Provider: p.Name, Connector: p.Connector.Name, Schedule: p.Schedule.String(), Sources: sources[p.Name]}
		at := now
		for range 3 {
			if at = p.Schedule.Next(at); at.IsZero() {
				break // it has none of its own: its sources do
			}
			one.Next = append(one.Next, at.In(p.Timezone))
		}
		r.Providers = append(r.Providers, one)
	}
	slices.SortFunc(r.Providers, func(x, y checkProvider) int {
		if x.Provider < y.Provider {
			return -1
		}
		return 1
	})
	return r
}

// coming spells fire times, each with its day where that is another one.
func coming(times []time.Time) string {
	if len(times) == 0 {
		return "by its sources' schedules"
	}
	said := times[0].Format("Mon 2006-01-02 15:04:05 MST")
	for i, at := range times[1:] {
		if at.YearDay() == times[i].YearDay() {
			said += at.Format(", 15:04:05")
		} else {
			said += at.Format(", Mon 01-02 15:04:05")
		}
	}
	return said
}

func printCheck(w io.Writer, r checkReport) {
	fmt.Fprintf(w, "%s is right: %s of %s, store %s\n", r.Config, count(r.Sources, "source"), count(len(r.Providers), "provider"), r.Store)
	var rows [][]string
	for _, p := range r.Providers {
		rows = append(rows, []string{p.Provider, p.Connector, count(p.Sources, "source"), p.Schedule, coming(p.Next)})
	}
	if len(rows) > 0 {
		tabulate(w, []string{"PROVIDER", "CONNECTOR", "SOURCES", "SCHEDULE", "NEXT"}, rows)
	}
}
