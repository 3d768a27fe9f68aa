package csv

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/syncdhq/syncd"
)

// A result is what a whole walk returned.
type result struct {
	records []syncd.Record
	sync    string
	notes   []string
	pages   int
	next    []string // the tokens between the pages
}

// open returns the stream of a feed at path.
func open(t testing.TB, path string, set func(*Options)) syncd.Stream {
	t.Helper()
	o := Defaults()
	o.Path = path
	if set != nil {
		set(o)
	}
	streams, err := o.Streams(nil)
	if err != nil {
		t.Fatal(err)
	}
	return streams[0]
}

// walk fetches pages to the end.
func walkAll(t testing.TB, s syncd.Stream, sync string) (result, error) {
	t.Helper()
	var r result
	req := syncd.Request{Sync: sync}
	for {
		page, err := s.Fetch(t.Context(), req)
		if err != nil {
			return r, err
		}
		r.pages++
		r.records = append(r.records, page.Records...)
		r.notes = append(r.notes, page.Notes...)
		if !strings.HasPrefix(page.Fingerprint, "sha256:") {
			t.Errorf("page %d: fingerprint %q, want sha256:...", r.pages, page.Fingerprint)
		}
		if page.Next == "" {
			r.sync = page.Sync
			return r, nil
		}
		if page.Sync != "" {
			t.Errorf("page %d is not the last and has a sync token", r.pages)
		}
		r.next = append(r.next, page.Next)
		req.Page = page.Next
	}
}

func mustWalk(t testing.TB, s syncd.Stream, sync string) result {
	t.Helper()
	r, err := walkAll(t, s, sync)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// rows spells records in short: `ID JSON`, or `! PLACE REASON` for rejects.
func rows(records []syncd.Record) []string {
	out := []string{}
	for _, r := range records {
		var reject *syncd.RejectError
		switch {
		case errors.As(r.Err, &reject):
			out = append(out, fmt.Sprintf("! %s %s", r.Place, reject.Reason))
		case r.Err != nil:
			out = append(out, "! without reason: "+r.Err.Error())
		case r.Deleted:
			out = append(out, fmt.Sprintf("- %s %s", r.ID, r.Data))
		default:
			out = append(out, fmt.Sprintf("%s %s", r.ID, r.Data))
		}
	}
	return out
}

func write(t testing.TB, path, content string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func feedFile(t testing.TB, content string) string {
	return write(t, filepath.Join(t.TempDir(), "feed.csv"), content)
}

func keyed(names ...string) func(*Options) { return func(o *Options) { o.Key = names } }

func byLine(o *Options) { o.KeyFrom = fromLine }

func TestPages(t *testing.T) {
	var b strings.Builder
	b.WriteString("\xef\xbb\xbfid,n\r\n")
	var want []string
	for i := range 25 {
		fmt.Fprintf(&b, "%03d,\"line\r\n%d \"\"x\"\"\"\r\n\r\n", i, i)
		want = append(want, fmt.Sprintf(`%03d {"id":"%03d","n":"line\r\n%d \"x\""}`, i, i, i))
	}
	path := feedFile(t, b.String())
	for _, size := range []int{1, 2, 5, 24, 25, 26} {
		s := open(t, path, func(o *Options) { o.Key, o.PageRows = []string{"id"}, size })
		r := mustWalk(t, s, "")
		if diff := cmp.Diff(want, rows(r.records)); diff != "" {
			t.Errorf("%d rows a page: -want +got\n%s", size, diff)
		}
		if want := (25 + size - 1) / size; r.pages != want {
			t.Errorf("%d rows a page: %d pages, want %d", size, r.pages, want)
		}
		if got, want := r.records[24].Place, "line 74"; got != want {
			t.Errorf("place of the last row: %q, want %q", got, want)
		}
		if _, err := walkAll(t, s, r.sync); !errors.Is(err, syncd.ErrNotModified) {
			t.Errorf("once more: %v, want ErrNotModified", err)
		}
	}
}

func TestResume(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.csv"), "id,n\n1,a\n\n2,\"b\nb\"\n3\n4,d\n")
	write(t, filepath.Join(dir, "b.csv"), "id,n\n5,e\n6,f\n")
	write(t, filepath.Join(dir, "c.csv"), "n,id\ng,7\nh,8\n")
	set := func(o *Options) { o.Key, o.PageRows = []string{"id"}, 1 }
	whole := mustWalk(t, open(t, dir, set), "")
	want := []string{
		`1 {"id":"1","n":"a"}`, `2 {"id":"2","n":"b\nb"}`, `! a.csv line 6 wrong_field_count`, `4 {"id":"4","n":"d"}`,
		`5 {"id":"5","n":"e"}`, `6 {"id":"6","n":"f"}`, `7 {"n":"g","id":"7"}`, `8 {"n":"h","id":"8"}`,
	}
	if diff := cmp.Diff(want, rows(whole.records)); diff != "" {
		t.Fatalf("-want +got\n%s", diff)
	}
	for i, token := range whole.next {
		s := open(t, dir, set) // as after a restart: it knows nothing but the token
		var got []syncd.Record
		req := syncd.Request{Page: token}
		for {
			page, err := s.Fetch(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, page.Records...)
			if req.Page = page.Next; req.Page == "" {
				if page.Sync != whole.sync {
					t.Errorf("after page %d: sync %q, want %q", i+1, page.Sync, whole.sync)
				}
				break
			}
		}
		if diff := cmp.Diff(whole.records[i+1:], got, cmp.Comparer(sameError)); diff != "" {
			t.Errorf("after page %d: -want +got\n%s", i+1, diff)
		}
	}
}

func sameError(a, b error) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

// A page is the same when it is asked for again, by the same stream or in
// another order.
func TestRepeat(t *testing.T) {
	path := feedFile(t, "id\n1\n2\n3\n4\n")
	s := open(t, path, func(o *Options) { o.Key, o.PageRows = []string{"id"}, 1 })
	r := mustWalk(t, s, "")
	for i := len(r.next) - 1; i >= 0; i-- {
		for range 2 {
			page, err := s.Fetch(t.Context(), syncd.Request{Page: r.next[i]})
			if err != nil {
				t.Fatal(err)
			}
			if got, want := page.Records[0].ID, r.records[i+1].ID; got != want {
				t.Errorf("page %d again: %s, want %s", i+2, got, want)
			}
		}
	}
}

func TestChangedWhileRead(t *testing.T) {
	const before = "id,n\n1,aaa\n2,bbb\n3,ccc\n"
	tests := map[string]func(t *testing.T, path string){
		"replaced by another": func(t *testing.T, path string) {
			write(t, path+".new", "id,n\n1,aaa\n2,xxx\n3,ccc\n")
			rename(t, path+".new", path)
		},
		"grown":   func(t *testing.T, path string) { write(t, path, before+"4,ddd\n") },
		"cut":     func(t *testing.T, path string) { write(t, path, before[:12]) },
		"emptied": func(t *testing.T, path string) { write(t, path, "") },
		"removed": func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		},
		"rewritten with its size and time": func(t *testing.T, path string) {
			keepTime(t, path, func() { write(t, path, strings.Replace(before, "bbb", "xxx", 1)) })
		},
		"rewritten where it was read already": func(t *testing.T, path string) {
			keepTime(t, path, func() { write(t, path, strings.Replace(before, "aaa", "xxx", 1)) })
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			path := feedFile(t, before)
			s := open(t, path, func(o *Options) { o.Key, o.PageRows = []string{"id"}, 1 })
			page, err := s.Fetch(t.Context(), syncd.Request{})
			if err != nil {
				t.Fatal(err)
			}
			change(t, path)
			for err == nil && page.Next != "" {
				page, err = s.Fetch(t.Context(), syncd.Request{Page: page.Next})
			}
			if !errors.Is(err, syncd.ErrResync) {
				t.Errorf("the walk ended with %v, want ErrResync", err)
			}
		})
		t.Run(name+", between two runs", func(t *testing.T) {
			if name == "emptied" || name == "removed" {
				return // the run that follows fails by itself, see TestRefused
			}
			path := feedFile(t, before)
			set := func(o *Options) { o.Key, o.PageRows = []string{"id"}, 1 }
			page, err := open(t, path, set).Fetch(t.Context(), syncd.Request{})
			if err != nil {
				t.Fatal(err)
			}
			change(t, path)
			if _, err = open(t, path, set).Fetch(t.Context(), syncd.Request{Page: page.Next}); !errors.Is(err, syncd.ErrResync) {
				t.Errorf("resumed: %v, want ErrResync", err)
			}
		})
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// keepTime gives the file its time back after f.
func keepTime(t *testing.T, path string, f func()) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	f()
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
}

// A file that comes or goes while a complete listing is read makes it another listing.
func TestListingChangedWhileRead(t *testing.T) {
	for _, came := range []string{"a.csv", "c.csv"} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "b.csv"), "id\n1\n2\n")
		s := open(t, dir, func(o *Options) { o.Key, o.PageRows = []string{"id"}, 1 })
		page, err := s.Fetch(t.Context(), syncd.Request{})
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, came), "id\n3\n")
		if _, err := s.Fetch(t.Context(), syncd.Request{Page: page.Next}); !errors.Is(err, syncd.ErrResync) {
			t.Errorf("%s came: %v, want ErrResync", came, err)
		}
	}
}

func TestContentDecides(t *testing.T) {
	dir := t.TempDir()
	path := write(t, filepath.Join(dir, "feed.csv"), "id,n\n1,aaa\n")
	first := mustWalk(t, open(t, path, keyed("id")), "")

	copied := write(t, filepath.Join(dir, "other.csv"), "id,n\n1,aaa\n")
	if _, err := walkAll(t, open(t, copied, keyed("id")), first.sync); !errors.Is(err, syncd.ErrNotModified) {
		t.Errorf("the same content under another name: %v, want ErrNotModified", err)
	}
	packed := write(t, filepath.Join(dir, "feed.csv.gz"), gzipped(t, "id,n\n1,aaa\n"))
	if _, err := walkAll(t, open(t, packed, keyed("id")), first.sync); !errors.Is(err, syncd.ErrNotModified) {
		t.Errorf("the same content, compressed: %v, want ErrNotModified", err)
	}
	keepTime(t, path, func() { write(t, path, "id,n\n2,bbb\n") })
	second := mustWalk(t, open(t, path, keyed("id")), first.sync)
	if diff := cmp.Diff([]string{`2 {"id":"2","n":"bbb"}`}, rows(second.records)); diff != "" {
		t.Errorf("new content with the size and time of the old: -want +got\n%s", diff)
	}
	other := mustWalk(t, open(t, path, keyed("n")), second.sync)
	if got, want := other.records[0].ID, "bbb"; got != want {
		t.Errorf("the same content with another key: id %q, want %q", got, want)
	}
}

func TestIncrements(t *testing.T) {
	dir := t.TempDir()
	set := func(o *Options) { o.Key, o.Listing, o.PageRows = []string{"id"}, false, 1 }
	write(t, filepath.Join(dir, "1.csv"), "id\n1\n")
	write(t, filepath.Join(dir, "2.csv"), "id\n2\n3\n")
	s := open(t, dir, set)
	if s.Snapshot {
		t.Error("increments are declared a snapshot")
	}
	step := func(sync string, want ...string) string {
		t.Helper()
		r, err := walkAll(t, open(t, dir, set), sync)
		if want == nil {
			if !errors.Is(err, syncd.ErrNotModified) {
				t.Fatalf("got %v, want ErrNotModified", err)
			}
			return sync
		}
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, rows(r.records)); diff != "" {
			t.Fatalf("-want +got\n%s", diff)
		}
		return r.sync
	}
	sync := step("", `1 {"id":"1"}`, `2 {"id":"2"}`, `3 {"id":"3"}`)
	step(sync)
	rename(t, filepath.Join(dir, "1.csv"), filepath.Join(dir, "9.csv"))
	write(t, filepath.Join(dir, "copy.csv"), "id\n2\n3\n")
	step(sync)
	write(t, filepath.Join(dir, "3.csv"), "id\n4\n5")
	sync = step(sync, `4 {"id":"4"}`, `! 3.csv line 3 unterminated_line`)
	sync = step(sync, `4 {"id":"4"}`, `! 3.csv line 3 unterminated_line`)
	write(t, filepath.Join(dir, "3.csv"), "id\n4\n5\n")
	sync = step(sync, `4 {"id":"4"}`, `5 {"id":"5"}`)
	step(sync)
	for _, name := range []string{"2.csv", "copy.csv"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(dir, "4.csv"), "id\n6\n")
	sync = step(sync, `6 {"id":"6"}`)
	write(t, filepath.Join(dir, "2.csv"), "id\n2\n3\n")
	step(sync) // it came back, and is remembered
}

// What changes while increments are read fails the run or starts the walk over,
// and never makes it forget which of them were read.
func TestIncrementsChangedWhileRead(t *testing.T) {
	set := func(o *Options) { o.Key, o.Listing, o.PageRows = []string{"id"}, false, 1 }
	tests := []struct {
		name   string
		change func(t *testing.T, dir string)
		want   []string // of the run that follows a run cut in b.csv
	}{
		{"a later one came", func(t *testing.T, dir string) { write(t, filepath.Join(dir, "c.csv"), "id\n5\n") }, []string{"3", "4", "5"}},
		{"an earlier one came", func(t *testing.T, dir string) { write(t, filepath.Join(dir, "a0.csv"), "id\n5\n") }, []string{"5", "2", "3", "4"}},
		{"it has grown", func(t *testing.T, dir string) { write(t, filepath.Join(dir, "b.csv"), "id\n2\n3\n4\n5\n") }, []string{"2", "3", "4", "5"}},
		{"it is one that was read", func(t *testing.T, dir string) { write(t, filepath.Join(dir, "b.csv"), "id\n1\n") }, nil},
	}
	for _, test := range tests {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "a.csv"), "id\n1\n")
		before := mustWalk(t, open(t, dir, set), "").sync
		write(t, filepath.Join(dir, "b.csv"), "id\n2\n3\n4\n")
		s := open(t, dir, set)
		page, err := s.Fetch(t.Context(), syncd.Request{Sync: before})
		if err != nil {
			t.Fatal(err)
		}
		test.change(t, dir)
		req := syncd.Request{Sync: before, Page: page.Next}
		if test.name == "it has grown" {
			if _, err := s.Fetch(t.Context(), req); !errors.Is(err, errChanged) || errors.Is(err, syncd.ErrResync) {
				t.Errorf("%s: %v in the same run, want errChanged alone", test.name, err)
			}
		}
		var got []string
		s = open(t, dir, set)
		for {
			page, err := s.Fetch(t.Context(), req)
			if test.want == nil {
				if !errors.Is(err, syncd.ErrNotModified) {
					t.Errorf("%s: %v, want ErrNotModified", test.name, err)
				}
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", test.name, err)
			}
			for _, r := range page.Records {
				got = append(got, r.ID)
			}
			if req.Page = page.Next; req.Page == "" {
				if _, err := walkAll(t, open(t, dir, set), page.Sync); !errors.Is(err, syncd.ErrNotModified) {
					t.Errorf("%s: the run after it: %v, want ErrNotModified", test.name, err)
				}
				break
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", test.name, diff)
		}
	}
}

func TestRemember(t *testing.T) {
	var d digests
	present := map[digest]bool{}
	read := map[digest]bool{}
	var order []digest
	for i := range gone + 10 {
		x := digest{byte(i), byte(i >> 8)}
		order = append(order, x)
		read[x] = true
	}
	present[order[0]] = true
	d = d.remember(read, present, order)
	if got, want := len(d), gone+1; got != want {
		t.Errorf("%d are kept, want %d: all that are there and %d that are not", got, want, gone)
	}
	if d[0] != order[0] || d[1] != order[10] {
		t.Error("the oldest of those that are gone are to be forgotten")
	}
	b, err := json.Marshal(memory{Read: d})
	if err != nil {
		t.Fatal(err)
	}
	var m memory
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(d, m.Read); diff != "" {
		t.Errorf("written and read: -want +got\n%s", diff)
	}
}

func TestPaths(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b.csv", "a.TSV", "c.txt", "d.csv.gz", "notes.md", ".hidden.csv", "e.csv.part"} {
		write(t, filepath.Join(dir, name), "")
	}
	for _, name := range []string{"x", "y", "z.csv"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, name, "orders.csv"), "")
	}
	write(t, filepath.Join(dir, "odd[1].csv"), "")
	tests := []struct {
		path string
		want []string
	}{
		{".", []string{"a.TSV", "b.csv", "c.txt", "d.csv.gz", "odd[1].csv"}},
		{"*.csv", []string{"b.csv", "odd[1].csv"}},
		{"?/orders.csv", []string{"x/orders.csv", "y/orders.csv"}},
		{"*/ord*.csv", []string{"x/orders.csv", "y/orders.csv", "z.csv/orders.csv"}},
		{"odd[1].csv", []string{filepath.Join(dir, "odd[1].csv")}},
		{"none*.csv", nil},
	}
	for _, test := range tests {
		ins, err := list(filepath.Join(dir, test.path))
		if err != nil {
			t.Errorf("%s: %v", test.path, err)
		}
		var got []string
		for _, in := range ins {
			got = append(got, filepath.ToSlash(in.name))
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", test.path, diff)
		}
	}
	if _, err := list(filepath.Join(dir, "missing.csv")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v, want that it does not exist", err)
	}
}
