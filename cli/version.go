package cli

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// A versionReport says what this program was built from.
type versionReport struct {
	Version  string            `json:"version"`
	Go       string            `json:"go"`
	Platform string            `json:"platform"`
	Revision string            `json:"revision,omitempty"`
	Modified bool              `json:"modified,omitempty"`
	Drivers  map[string]string `json:"drivers"`
}

func (a *app) versionCommand() *cobra.Command {
	var out output
	c := &cobra.Command{
		Use:   "version",
		Short: "Show what this program was built from",
		Example: `  syncd version
  syncd version -o json`,
		Args: takes(),
		RunE: func(*cobra.Command, []string) error {
			r := built()
			return out.print(a.Out, r, func(w io.Writer) {
				revision := ""
				if r.Revision != "" {
					revision = ", revision " + r.Revision
				}
				if r.Modified {
					revision += " with changes"
				}
				fmt.Fprintf(w, "syncd %s (%s %s%s)\n", r.Version, r.Go, r.Platform, revision)
				for _, name := range []string{"PostgreSQL", "SQLite"} {
					fmt.Fprintf(w, "  driver for %s: %s\n", name, or(r.Drivers[name], "unknown"))
				}
			})
		},
	}
	out.flag(c)
	return c
}

// version is this program's own, "dev" where it was not built from a release.
func version() string { return built().Version }

func built() versionReport {
	r := versionReport{Version: "dev", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Drivers: map[string]string{}}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return r
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		r.Version = v
	}
	for _, m := range info.Deps {
		switch m.Path {
		case "github.com/syncdhq/syncd": // a program of somebody's own
			r.Version = m.Version
		case "github.com/jackc/pgx/v5":
			r.Drivers["PostgreSQL"] = "pgx " + m.Version
		case "modernc.org/sqlite":
			r.Drivers["SQLite"] = "modernc.org/sqlite " + m.Version
		}
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			r.Revision = s.Value
		case "vcs.modified":
			r.Modified = s.Value == "true"
		}
	}
	return r
}
