package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/syncdhq/syncd/internal/store"
)

// A migrationRow is a migration for programs.
type migrationRow struct {
	Number    int        `json:"number"`
	Name      string     `json:"name"`
	AppliedAt *time.Time `json:"applied_at"`
	Now       bool       `json:"applied_now"`
}

func (a *app) migrateCommand() *cobra.Command {
	var out output
	var status bool
	c := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the store's schema up to date",
		Long: `Bring the store's schema up to date. The daemon does so when it starts; this is for
those who would rather do it by themselves, or with another database user.`,
		Example: `  syncd migrate
  syncd migrate --status                     only list what is applied and what is not`,
		Args: takes(),
		RunE: func(c *cobra.Command, _ []string) error { return a.migrate(c.Context(), status, out) },
	}
	c.Flags().BoolVar(&status, "status", false, "only list the migrations")
	out.flag(c)
	return c
}

func (a *app) migrate(ctx context.Context, status bool, out output) error {
	cfg, err := a.load()
	if err != nil {
		return err
	}
	connect := a.connect
	if status {
		connect = a.existing // looking creates no store
	}
	s, err := connect(ctx, cfg)
	if err != nil {
		return err
	}
	defer s.Close()
	var applied []store.Migration
	if !status {
		if applied, err = s.Migrate(ctx); err != nil {
			return err
		}
	}
	known, err := s.Migrations(ctx)
	if err != nil {
		return err
	}
	now := map[int]bool{}
	for _, m := range applied {
		now[m.Number] = true
	}
	rows := []migrationRow{}
	var cells [][]string
	for _, m := range known {
		rows = append(rows, migrationRow{m.Number, m.Name, maybe(m.AppliedAt), now[m.Number]})
		at := when(m.AppliedAt)
		if m.AppliedAt.IsZero() {
			at = "not yet"
		}
		cells = append(cells, []string{fmt.Sprintf("%04d", m.Number), m.Name, at})
	}
	return out.print(a.Out, rows, func(w io.Writer) {
		tabulate(w, []string{"MIGRATION", "NAME", "APPLIED"}, cells)
		if !status {
			fmt.Fprintf(w, "%s applied now; the schema of %s is up to date\n", count(len(applied), "migration"), cfg.StoreName())
		}
	})
}

// migrationName names a migration for people.
func migrationName(m store.Migration) string { return fmt.Sprintf("%04d %s", m.Number, m.Name) }
