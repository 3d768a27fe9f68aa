package cli

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/lmittmann/tint"
	"golang.org/x/term"

	"github.com/syncdhq/syncd/internal/config"
	"github.com/syncdhq/syncd/internal/run"
	"github.com/syncdhq/syncd/internal/store"
)

// newLog returns the log that the configuration asks for: short and coloured on
// a terminal, else key=value or JSON.
func newLog(w io.Writer, cfg config.Log) *slog.Logger {
	switch {
	case cfg.Format == "json":
		return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: cfg.Level}))
	case cfg.Format == "text" || !isTerminal(w):
		return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: cfg.Level}))
	}
	return slog.New(tint.NewTextHandler(w, &tint.Options{Level: cfg.Level, TimeFormat: time.TimeOnly}))
}

func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// logRun says in one line what a run did.
func logRun(log *slog.Logger, key store.Key, res run.Result, took time.Duration) {
	name := oneLine(key.String())
	log = log.With("user", key.User, "provider", key.Provider, "state", res.State, "took", took.Round(time.Millisecond))
	switch res.State {
	case store.Failed:
		log.Error(name+": failed after "+summary(res), "error", oneLine(firstLine(res.Err.Error())))
	case store.Lost:
		log.Error(name + ": another daemon has taken this source over")
	case store.Done:
		if res.Counters.Rejected > 0 {
			log.Warn(fmt.Sprintf("%s: %s (see: syncd rejects list %s)", name, summary(res), name))
			break
		}
		log.Info(name + ": " + summary(res))
	default:
		log.Info(fmt.Sprintf("%s: %s, %s", name, summary(res), sentence(res)))
	}
	for _, note := range res.Notes {
		log.Info(name + ": " + oneLine(note))
	}
}

// sentence says what becomes of a run that did not end, in plain words.
func sentence(res run.Result) string {
	switch res.State {
	case store.Partial:
		return "stopped for now and goes on where it was"
	case store.Parked:
		return "waits for quota until " + res.Until.Local().Format(time.TimeOnly)
	}
	return res.State
}

// summary spells what a run did to the tables: "12 inserted, 3 updated, 100 unchanged".
func summary(res run.Result) string {
	if res.Unchanged {
		return "nothing new, the input is unchanged"
	}
	return counted(res.Counters)
}

func counted(c store.Counters) string {
	var parts []string
	for _, n := range []struct {
		count int64
		word  string
	}{
		{c.Inserted, "inserted"}, {c.Updated, "updated"}, {c.Restored, "restored"}, {c.Deleted, "deleted"},
		{c.Unchanged, "unchanged"}, {c.Duplicate, "duplicate"}, {c.Stale, "stale"}, {c.Rejected, "rejected"},
	} {
		if n.count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n.count, n.word))
		}
	}
	if len(parts) == 0 {
		return "no records"
	}
	return strings.Join(parts, ", ")
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
