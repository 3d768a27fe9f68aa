package migrations

import (
	"strings"
	"testing"
	"testing/fstest"
)

func TestListEmbedded(t *testing.T) {
	for _, dialect := range []string{Postgres, SQLite} {
		list, err := List(dialect)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == 0 || list[0].Number != 1 || list[0].Name != "init" || len(list[0].Checksum) != 64 {
			t.Errorf("%s: got %+v, want a first migration named init", dialect, list)
		}
	}
	if _, err := List("oracle"); err == nil {
		t.Error("an unknown dialect: got no error")
	}
}

// Both dialects must go through the same steps.
func TestDialectsAgree(t *testing.T) {
	pg, err := List(Postgres)
	if err != nil {
		t.Fatal(err)
	}
	lite, err := List(SQLite)
	if err != nil {
		t.Fatal(err)
	}
	if len(pg) != len(lite) {
		t.Fatalf("got %d migrations for PostgreSQL, %d for SQLite", len(pg), len(lite))
	}
	for i := range pg {
		if pg[i].Name != lite[i].Name {
			t.Errorf("migration %d: got %q for PostgreSQL, %q for SQLite", i+1, pg[i].Name, lite[i].Name)
		}
	}
}

func TestListChecksNames(t *testing.T) {
	tests := []struct {
		name  string
		files []string
		want  string // in the error; "" for none
	}{
		{"consecutive", []string{"0001_a.sql", "0002_b_c.sql"}, ""},
		{"empty", nil, ""},
		{"gap", []string{"0001_a.sql", "0003_b.sql"}, "number 2 is due next"},
		{"does not begin with one", []string{"0002_a.sql"}, "number 1 is due next"},
		{"twice", []string{"0001_a.sql", "0001_b.sql"}, "number 2 is due next"},
		{"no number", []string{"init.sql"}, "not NNNN_name.sql"},
		{"sign", []string{"+001_a.sql"}, "not NNNN_name.sql"},
		{"short number", []string{"1_a.sql"}, "not NNNN_name.sql"},
		{"no name", []string{"0001_.sql"}, "not NNNN_name.sql"},
		{"other suffix", []string{"0001_a.txt"}, "not NNNN_name.sql"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := fstest.MapFS{}
			for _, f := range tt.files {
				dir[f] = &fstest.MapFile{Data: []byte("SELECT 1;")}
			}
			got, err := list(dir)
			if tt.want == "" {
				if err != nil || len(got) != len(tt.files) {
					t.Errorf("got %v, %v", got, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got error %v, want %q", err, tt.want)
			}
		})
	}
}
