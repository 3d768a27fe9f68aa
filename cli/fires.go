package cli

import (
	"fmt"
	"io"
	"time"
)

// A fire is a time at which a source or an expression is due.
type fire struct {
	At       time.Time  `json:"at"`            // by the schedule, in UTC
	Local    string     `json:"local"`         // the same in the schedule's zone
	Due      *time.Time `json:"due,omitempty"` // when it is claimed
	User     string     `json:"user,omitempty"`
	Provider string     `json:"provider,omitempty"`
	Why      string     `json:"why,omitempty"` // why it is due other than by its schedule
}

func fireAt(at time.Time, zone *time.Location) fire {
	return fire{At: at.UTC(), Local: at.In(zone).Format(time.RFC3339)}
}

// printFires prints the times of one schedule, in its zone.
func printFires(w io.Writer, fires []fire, zone *time.Location, now time.Time) {
	if len(fires) == 0 {
		fmt.Fprintln(w, "nothing is due after that")
		return
	}
	header := []string{"AT", "IN"}
	if fires[0].Due != nil {
		header = append(header, "DUE")
	}
	if zone != time.UTC {
		header = append(header, "UTC")
	}
	var rows [][]string
	for _, f := range fires {
		row := []string{inZone(f.At, zone), distance(f.At, now)}
		if f.Due != nil {
			row = append(row, f.Due.In(zone).Format(time.DateTime))
		}
		if zone != time.UTC {
			row = append(row, f.At.Format(time.DateTime))
		}
		rows = append(rows, row)
	}
	tabulate(w, header, rows)
}

// printDue prints the next time of each source.
func printDue(w io.Writer, fires []fire, now time.Time) {
	if len(fires) == 0 {
		fmt.Fprintln(w, "nothing is due: there is no source that is not paused")
		return
	}
	var rows [][]string
	for _, f := range fires {
		rows = append(rows, []string{when(*f.Due), distance(*f.Due, now), clip(f.User, 32), f.Provider, or(f.Why, "-")})
	}
	tabulate(w, []string{"DUE", "IN", "USER", "PROVIDER", "WHY"}, rows)
}

// distance spells how far off a time is: "12m", "now", "late by 5m".
func distance(at, now time.Time) string {
	switch d := at.Sub(now); {
	case d >= time.Second:
		return span(d)
	case d > -lateAfter:
		return "now"
	default:
		return "late by " + span(-d)
	}
}
