package csv

import (
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/syncdhq/syncd"
)

func TestReplay(t *testing.T) {
	const text = "id,n\n1,a\n2,\"b\"x\n3,c\n4,d\n5"
	path := feedFile(t, text)
	tests := []struct {
		name, path, raw string
		set             func(*Options)
		want            string
	}{
		{"as it was", path, "2,\"b\"x\n", keyed("id"), "!  bare_quote"},
		{"corrected", path, "2,\"b\r\nx\"\r\n", keyed("id"), `2 {"id":"2","n":"b\r\nx"}`},
		{"corrected, without line end", path, "5,e", keyed("id"), `5 {"id":"5","n":"e"}`},
		{"too few fields", path, "5", keyed("id"), "!  wrong_field_count"},
		{"an open quote", path, "5,\"e\n", keyed("id"), "!  bare_quote"},
		{"nothing", path, "\n", keyed("id"), "!  wrong_field_count"},
		{"two rows", path, "5,e\n6,f\n", keyed("id"), "!  several_rows"},
		{"too long", path, "5," + strings.Repeat("e", 30), with(keyed("id"), func(o *Options) { o.MaxRow = 20 }), "!  row_too_long"},
		{"by named columns, without a file", "missing.csv", "5,e\n", with(keyed("id"), columnsAs("id", "n")), `5 {"id":"5","n":"e"}`},
		{"in the file's encoding", "missing.csv", "5,\xfc\n", with(keyed("1"), columnsAs("id", "n"), encoded("windows-1252")), `5 {"id":"5","n":"ü"}`},
		{"by the positions of the present file", feedFile(t, "a;b\n"), "5;e\n", with(keyed("1"), headless, delimited(";")), `5 {"1":"5","2":"e"}`},
		{"a file with other line ends", feedFile(t, "id,n\r1,a\r"), "5,e\n", keyed("id"), `5 {"id":"5","n":"e"}`},
	}
	for _, test := range tests {
		r, err := open(t, test.path, test.set).Replay(t.Context(), []byte(test.raw))
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if diff := cmp.Diff([]string{test.want}, rows([]syncd.Record{r})); diff != "" {
			t.Errorf("%s: -want +got\n%s", test.name, diff)
		}
		if string(r.Raw) != test.raw {
			t.Errorf("%s: raw %q, want %q", test.name, r.Raw, test.raw)
		}
	}
}

// Whatever was set aside or ingested can be replayed from its bytes with the same result.
func TestReplayIsFetch(t *testing.T) {
	path := feedFile(t, "id,n\n1,a\n2,\"b\"x\n3\n4,\"d\r\ne\"\r\n,f\n6,\xff\n7,ok\n8,ok\n")
	s := open(t, path, keyed("id"))
	fetched := mustWalk(t, s, "").records
	for _, want := range fetched {
		got, err := s.Replay(t.Context(), want.Raw)
		if err != nil {
			t.Fatal(err)
		}
		if got.ID != want.ID || string(got.Data) != string(want.Data) || string(got.Raw) != string(want.Raw) || (got.Err == nil) != (want.Err == nil) {
			t.Errorf("%s: replayed %+v, fetched %+v", want.Place, got, want)
		}
	}
}

func TestReplayRefused(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.csv"), "id,n\n1,a\n")
	write(t, filepath.Join(dir, "b.csv"), "n,id\na,1\n")
	tests := []struct {
		path string
		set  func(*Options)
		want string
	}{
		{filepath.Join(dir, "missing.csv"), keyed("id"), "columns are not known"},
		{filepath.Join(dir, "none*.csv"), keyed("id"), "columns are not known"},
		{dir, keyed("id"), "other columns than"},
		{filepath.Join(dir, "a.csv"), byLine, "key_from: line"},
	}
	for _, test := range tests {
		if r, err := open(t, test.path, test.set).Replay(t.Context(), []byte("5,e\n")); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %+v, %v; want %q", test.path, r, err, test.want)
		}
	}
}

func TestReplayURL(t *testing.T) {
	from := &trip{handler: func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "id,n\n1,a\n") }}
	s := served(t, from, nil)
	for range 2 {
		r, err := s.Replay(t.Context(), []byte("5,e\n"))
		if err != nil || r.ID != "5" {
			t.Errorf("got %+v, %v", r, err)
		}
	}
	if len(from.requests) != 1 {
		t.Errorf("%d requests for two rejects, want 1", len(from.requests))
	}
	s = served(t, from, columnsAs("id", "n"))
	if r, err := s.Replay(t.Context(), []byte("5,e\n")); err != nil || r.ID != "5" || len(from.requests) != 1 {
		t.Errorf("by named columns: %+v, %v, %d requests; want no other request", r, err, len(from.requests))
	}
}
