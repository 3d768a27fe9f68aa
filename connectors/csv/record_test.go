package csv

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/syncdhq/syncd"
	"pgregory.net/rapid"
)

func TestIDs(t *testing.T) {
	const text = "a,b,c\n1,x/y,p\n 007 ,%2F,q\n,b,r\n1,\" \",s\n1.23457E+18,b,t\n"
	tests := []struct {
		set  func(*Options)
		want []string
	}{
		{keyed("a"), []string{"1", " 007 ", "! missing_external_id", "1", "! scientific_id"}},
		{keyed("b"), []string{"x/y", "%2F", "b", "! missing_external_id", "b"}},
		{keyed("2", "a"), []string{"x%2Fy/1", "%252F/ 007 ", "! missing_external_id", "! missing_external_id", "! scientific_id"}},
		{byLine, []string{"2", "3", "4", "5", "6"}},
	}
	for _, test := range tests {
		r := mustWalk(t, open(t, feedFile(t, text), test.set), "")
		var got []string
		for i, x := range rows(r.records) {
			if strings.HasPrefix(x, "!") {
				x = "! " + x[strings.LastIndexByte(x, ' ')+1:]
			} else {
				x = r.records[i].ID
			}
			got = append(got, x)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	}
}

// Different keys have different ids.
func TestKeysDoNotCollide(t *testing.T) {
	part := rapid.StringMatching(`[a%/25F]{1,4}`)
	rapid.Check(t, func(t *rapid.T) {
		join := func(a, b string) string { return escapeKey.Replace(a) + "/" + escapeKey.Replace(b) }
		a, b, c, d := part.Draw(t, "a"), part.Draw(t, "b"), part.Draw(t, "c"), part.Draw(t, "d")
		if same := join(a, b) == join(c, d); same != (a == c && b == d) {
			t.Fatalf("%q %q and %q %q are both %q", a, b, c, d, join(a, b))
		}
	})
}

func TestContentIDs(t *testing.T) {
	ids := func(text string, set func(*Options)) []string {
		var out []string
		for _, r := range mustWalk(t, open(t, feedFile(t, text), with(func(o *Options) { o.KeyFrom = fromContent }, set)), "").records {
			out = append(out, r.ID)
		}
		return out
	}
	got := ids("a,b\n1,2\n\"1\",2\r\n12,\n,12\n1,3\n", func(*Options) {})
	if got[0] != got[1] {
		t.Errorf("the same values, quoted or not: %s and %s", got[0], got[1])
	}
	seen := map[string]bool{}
	for _, id := range got[1:] {
		if seen[id] || len(id) != 32 {
			t.Errorf("id %s is there twice, or is not 32 digits", id)
		}
		seen[id] = true
	}
	latin := ids("a,b\n\xfc,2\n", encoded("windows-1252"))
	if utf := ids("a,b\nü,2\n", func(*Options) {}); latin[0] != utf[0] {
		t.Errorf("the same text in two encodings: %s and %s", latin[0], utf[0])
	}
}

func TestLineIDsOverFiles(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/a.csv", "n\n1\n\n2\n")
	write(t, dir+"/b.csv", "n\n3\n")
	for _, size := range []int{1, 1000} {
		r := mustWalk(t, open(t, dir, with(byLine, func(o *Options) { o.PageRows = size })), "")
		want := []string{`2 {"n":"1"}`, `4 {"n":"2"}`, `6 {"n":"3"}`}
		if diff := cmp.Diff(want, rows(r.records)); diff != "" {
			t.Errorf("%d rows a page: -want +got\n%s", size, diff)
		}
		if got, want := r.records[2].Place, "b.csv line 2"; got != want {
			t.Errorf("place %q, want %q", got, want)
		}
	}
}

func TestMarks(t *testing.T) {
	noon := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		format, zone, text string
		want               syncd.Mark
		reason             string
	}{
		{"", "", "2026-07-01T14:00:00+02:00", syncd.At(noon), ""},
		{"", "Europe/Berlin", "2026-07-01 14:00:00", syncd.At(noon), ""},
		{"", "", "2026-07-01 14:00:00", 0, "naive_timestamp"},
		{"", "", "", 0, ""},
		{"", "", "yesterday", 0, "bad_time"},
		{"02.01.2006 15:04", "Europe/Berlin", "01.07.2026 14:00", syncd.At(noon), ""},
		{"02.01.2006 15:04", "Europe/Berlin", "07/01/2026 14:00", 0, "bad_time"},
		{"2006-01-02 15:04 -0700", "", "2026-07-01 14:00 +0200", syncd.At(noon), ""},
		{"unix", "", "1782907200", syncd.At(noon), ""},
		{"unix_ms", "", " 1782907200000 ", syncd.At(noon), ""},
		{"unix", "", "9223372036854775807", 0, "bad_time"},
		{"integer", "", "9007199254740993", 9007199254740993, ""},
		{"integer", "", "0", 0, ""},
		{"integer", "", "1.5", 0, "bad_mark"},
		{"integer", "", "-1", 0, "bad_mark"},
		{"integer", "", "9223372036854775808", 0, "bad_mark"},
	}
	for _, test := range tests {
		s := open(t, feedFile(t, "id,at\n1,"+test.text+"\n"), func(o *Options) {
			o.Key, o.Mark, o.MarkFormat, o.Zone = []string{"id"}, "at", test.format, test.zone
		})
		r := mustWalk(t, s, "").records[0]
		reason := ""
		if reject, ok := r.Err.(*syncd.RejectError); ok {
			reason = reject.Reason
		}
		if r.Mark != test.want || reason != test.reason || r.ID != "1" || r.Data == nil {
			t.Errorf("%q as %q: mark %d, reason %q, id %q; want %d, %q and the record", test.text, test.format, r.Mark, reason, r.ID, test.want, test.reason)
		}
	}
}

func TestDelete(t *testing.T) {
	const text = "id,gone\n1,\n2,true\n3,0\n4,cancelled\n"
	for want, set := range map[string]func(*Options){
		"2": func(o *Options) { o.Delete = "gone" },
		"4": func(o *Options) { o.Delete, o.DeleteValues = "2", []string{"cancelled", "void"} },
	} {
		var got []string
		for _, r := range mustWalk(t, open(t, feedFile(t, text), with(keyed("id"), set)), "").records {
			if r.Deleted {
				got = append(got, r.ID)
			}
		}
		if diff := cmp.Diff([]string{want}, got); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	}
}
