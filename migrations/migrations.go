// Package migrations holds the schema of syncd as numbered SQL files, one
// folder per dialect. It imports nothing of the program, so the files can be
// read and applied by other means as well.
//
// A file is named NNNN_name.sql and is never changed once released: the stores
// keep its checksum and refuse a schema that differs.
package migrations

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

//go:embed postgres/*.sql sqlite/*.sql
var files embed.FS

// The dialects: the names of the folders.
const (
	Postgres = "postgres"
	SQLite   = "sqlite"
)

// A Migration is one numbered step of the schema.
type Migration struct {
	Number   int    // 1, 2, 3 and so on, without a gap
	Name     string // of the file, without number and suffix
	SQL      string // one or more statements, to be run in one transaction
	Checksum string // SHA-256 of SQL, in hexadecimal
}

// List returns the migrations of a dialect in order.
func List(dialect string) ([]Migration, error) {
	sub, err := fs.Sub(files, dialect)
	if err != nil {
		return nil, fmt.Errorf("list migrations of %q: %w", dialect, err)
	}
	return list(sub)
}

func list(dir fs.FS) ([]Migration, error) {
	entries, err := fs.ReadDir(dir, ".") // sorted by name
	if err != nil {
		return nil, fmt.Errorf("list migrations: %w", err)
	}
	var out []Migration
	for _, e := range entries {
		number, name, err := parseName(e.Name())
		if err != nil {
			return nil, err
		}
		if number != len(out)+1 {
			return nil, fmt.Errorf("migration %s: number %d is due next", e.Name(), len(out)+1)
		}
		sql, err := fs.ReadFile(dir, e.Name())
		if err != nil {
			return nil, fmt.Errorf("read migration %s: %w", e.Name(), err)
		}
		sum := sha256.Sum256(sql)
		out = append(out, Migration{number, name, string(sql), hex.EncodeToString(sum[:])})
	}
	return out, nil
}

// parseName splits NNNN_name.sql.
func parseName(file string) (number int, name string, err error) {
	digits, rest, ok := strings.Cut(file, "_")
	name, isSQL := strings.CutSuffix(rest, ".sql")
	n, convErr := strconv.ParseUint(digits, 10, 16)
	if !ok || !isSQL || name == "" || len(digits) != 4 || convErr != nil {
		return 0, "", fmt.Errorf("migration %s: the name is not NNNN_name.sql", file)
	}
	return int(n), name, nil
}
