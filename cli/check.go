package cli

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/syncdhq/syncd/internal/config"
)

// A checkReport is what `syncd check -o json` prints.
type checkReport struct {
	Config    string          `json:"config"`
	Right     bool            `json:"right"`
	Errors    []checkError    `json:"errors"`
	Warnings  []checkError    `json:"warnings"`
	Store     string          `json:"store,omitempty"`
	Sources   int             `json:"sources"`
	Providers []checkProvider `json:"providers"`
}

// A checkError is an error or a warning at one place of the file.
type checkError struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// A checkProvider is what the configuration says of a provider.
type checkProvider struct {
	Provider  string          `json:"provider"`
	Connector string          `json:"connector"`
	Sources   int             `json:"sources"`
	Schedules []checkSchedule `json:"schedules"` // the provider's own, and those that its sources set
}

// A checkSchedule is a schedule, how many sources have it, and its next times.
type checkSchedule struct {
	Schedule string   `json:"schedule"`
	Sources  int      `json:"sources"`
	Next     []string `json:"next"` // RFC 3339, in the schedule's zone

	next []time.Time
}

// fireTimes is how many coming times of each schedule are shown.
const fireTimes = 3

func (a *app) checkCommand() *cobra.Command {
	var out output
	c := &cobra.Command{
		Use:   "check",
		Short: "Look the configuration over",
		Long: `Look the configuration over, as the daemon does before it takes it.

Every error is listed at once as FILE:LINE:COLUMN: message, and the exit code is
2. If there is none, it says what the configuration comes to and when each
provider is due next. No provider is asked and no store is opened.`,
		Example: `  syncd check
  syncd check --config new.yaml && mv new.yaml /etc/syncd/config.yaml
  syncd check -o json                        errors and warnings as a list, for editors and CI`,
		Args: takes(),
		RunE: func(*cobra.Command, []string) error { return a.check(out, time.Now()) },
	}
	out.flag(c)
	return c
}

func (a *app) check(out output, now time.Time) error {
	cfg, err := a.load()
	wrong, ok := errors.AsType[config.Errors](err)
	switch {
	case ok && out.format == "json":
		r := checkReport{Config: a.configFile(), Errors: checkErrors(wrong), Warnings: []checkError{}, Providers: []checkProvider{}}
		return errors.Join(out.print(a.Out, r, nil), err)
	case err != nil:
		return err
	}
	for _, w := range cfg.Warnings {
		fmt.Fprintf(a.Err, "%s\n", oneLine(asWarning(w).Error()))
	}
	r := report(cfg, now)
	return out.print(a.Out, r, func(w io.Writer) { printCheck(w, r) })
}

// asWarning puts the word where an editor leaves it to the message.
func asWarning(w config.Error) config.Error {
	w.Message = "warning: " + w.Message
	return w
}

func checkErrors(list []config.Error) []checkError {
	out := make([]checkError, len(list))
	for i, e := range list {
		out[i] = checkError(e)
	}
	return out
}

// report says what a configuration comes to.
func report(cfg *config.Config, now time.Time) checkReport {
	schedules := map[*config.Provider]map[*config.Timing]int{} // how many sources have each
	for _, p := range cfg.Providers {
		schedules[p] = map[*config.Timing]int{}
	}
	sources := map[*config.Provider]int{}
	for _, s := range cfg.Sources {
		sources[s.Of]++
		schedules[s.Of][s.Timing]++
	}
	r := checkReport{
		Config: cfg.Path, Right: true, Errors: []checkError{}, Warnings: checkErrors(cfg.Warnings),
		Store: cfg.StoreName(), Sources: len(cfg.Sources), Providers: []checkProvider{},
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Providers)) {
		p := cfg.Providers[name]
		if sources[p] == 0 {
			schedules[p][p.Timing] = 0
		}
		r.Providers = append(r.Providers, checkProvider{name, p.Connector.Name, sources[p], checkSchedules(schedules[p], now)})
	}
	return r
}

// checkSchedules returns the schedules that sources have, the commonest first.
// Timings that differ in something else are one schedule.
func checkSchedules(timings map[*config.Timing]int, now time.Time) []checkSchedule {
	byText := map[string]*checkSchedule{}
	for t, n := range timings {
		text := t.Schedule.String()
		if text == "" {
			continue // of a provider that leaves it to its sources
		}
		if byText[text] == nil {
			one := &checkSchedule{Schedule: text, Next: []string{}}
			for at := t.Schedule.Next(now); len(one.next) < fireTimes && !at.IsZero(); at = t.Schedule.Next(at) {
				one.next = append(one.next, at.In(t.Timezone))
				one.Next = append(one.Next, at.In(t.Timezone).Format(time.RFC3339))
			}
			byText[text] = one
		}
		byText[text].Sources += n
	}
	out := []checkSchedule{}
	for _, text := range slices.Sorted(maps.Keys(byText)) {
		out = append(out, *byText[text])
	}
	slices.SortStableFunc(out, func(x, y checkSchedule) int { return y.Sources - x.Sources })
	return out
}

// mostSchedules is how many schedules of a provider people see.
const mostSchedules = 5

func printCheck(w io.Writer, r checkReport) {
	fmt.Fprintf(w, "%s is right: %s of %s, store %s\n", oneLine(r.Config), count(r.Sources, "source"), count(len(r.Providers), "provider"), oneLine(r.Store))
	var rows [][]string
	for _, p := range r.Providers {
		if len(p.Schedules) == 0 {
			rows = append(rows, []string{p.Provider, p.Connector, "0", "-", "-"})
		}
		for i, s := range p.Schedules {
			if i == mostSchedules {
				rows = append(rows, []string{"", "", "...", fmt.Sprintf("and %s", count(len(p.Schedules)-i, "more schedule")), ""})
				break
			}
			row := []string{p.Provider, p.Connector, fmt.Sprint(s.Sources), s.Schedule, coming(s.next)}
			if i > 0 {
				row[0], row[1] = "", ""
			}
			rows = append(rows, row)
		}
	}
	if len(rows) > 0 {
		fmt.Fprintln(w)
		tabulate(w, []string{"PROVIDER", "CONNECTOR", "SOURCES", "SCHEDULE", "NEXT"}, rows)
	}
}

// coming spells fire times: the day and the zone only where they change.
func coming(times []time.Time) string {
	var said []string
	for i, at := range times {
		zone, _ := at.Zone()
		layout := "Mon 2006-01-02 15:04:05 MST"
		if i > 0 {
			before, _ := times[i-1].Zone()
			switch {
			case zone != before:
				layout = "Mon 01-02 15:04:05 MST"
			case at.Format(time.DateOnly) == times[i-1].Format(time.DateOnly):
				layout = "15:04:05"
			default:
				layout = "Mon 01-02 15:04:05"
			}
		}
		said = append(said, at.Format(layout))
	}
	return strings.Join(said, ", ")
}
