package migrations

import (
	"fmt"
	"time"
)

// An Applied is a migration that a database has had: a row of its
// schema_migrations.
type Applied struct {
	Number   int
	Name     string
	Checksum string
	At       time.Time
}

// Pending returns the known migrations that are still to be applied. A schema
// that is newer than known, or that was made from other files, is an error.
func Pending(known []Migration, applied []Applied) ([]Migration, error) {
	for i, a := range applied {
		switch {
		case a.Number != i+1:
			return nil, fmt.Errorf("migration %04d is missing from schema_migrations", i+1)
		case i >= len(known):
			last := applied[len(applied)-1]
			return nil, fmt.Errorf("the schema is at migration %04d_%s, this program knows %04d at most: use a newer syncd", last.Number, last.Name, len(known))
		case a.Checksum != known[i].Checksum:
			return nil, fmt.Errorf("migration %04d_%s was applied from a file that differs from this program's (checksum %s, not %s)",
				a.Number, a.Name, a.Checksum, known[i].Checksum)
		}
	}
	return known[len(applied):], nil
}
