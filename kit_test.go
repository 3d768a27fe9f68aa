package syncd

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/syncdhq/syncd/internal/casebook"
)

// table hands our own rows to check, and then those of a shared table.
func table[R any](t *testing.T, own []R, name string, check func(*testing.T, R)) {
	t.Helper()
	for _, r := range own {
		check(t, r)
	}
	t.Run("shared", func(t *testing.T) {
		b, err := os.ReadFile(casebook.Shared(t, "faults", "cases", name))
		if err != nil {
			t.Fatal(err)
		}
		var rows []R
		if err := json.Unmarshal(b, &rows); err != nil || len(rows) == 0 {
			t.Fatalf("%s: %d rows, %v", name, len(rows), err)
		}
		for _, r := range rows {
			check(t, r)
		}
	})
}

func reason(err error) string {
	var r *RejectError
	if errors.As(err, &r) {
		return r.Reason
	}
	return ""
}

func TestID(t *testing.T) {
	type row struct {
		JSON  string  `json:"json"`
		ID    *string `json:"external_id"`
		Error *string `json:"error"`
	}
	text := func(s string) *string { return &s }
	rows := []row{
		{"1.0", text("1"), nil}, {"10e-1", text("1"), nil}, {"12e3", text("12000"), nil},
		{"-7", text("-7"), nil}, {"true", nil, text("bad_external_id")}, {"1e99", nil, text("bad_external_id")},
		{`"9223372036854775808"`, text("9223372036854775808"), nil}, {"9223372036854775809", text("9223372036854775809"), nil},
	}
	table(t, rows, "id_table.json", func(t *testing.T, r row) {
		var id ID
		err := json.Unmarshal([]byte(r.JSON), &id)
		switch {
		case r.ID != nil && (err != nil || string(id) != *r.ID):
			t.Errorf("%s: got %q %v, want %q", r.JSON, id, err, *r.ID)
		case r.Error != nil && *r.Error == "missing_external_id" && (err != nil || id != ""):
			t.Errorf("%s: got %q %v, want no id", r.JSON, id, err)
		case r.Error != nil && *r.Error == "bad_external_id" && reason(err) != *r.Error:
			t.Errorf("%s: got %q, error %v, want %s", r.JSON, id, err, *r.Error)
		}
	})
}

func TestParseTime(t *testing.T) {
	type row struct {
		V  string  `json:"v"`
		OK bool    `json:"ok"`
		As *string `json:"as"`
	}
	as := func(s string) *string { return &s }
	rows := []row{
		{"2026-06-01 10:00:00Z", true, as("2026-06-01T10:00:00Z")},
		{"2025-09-23T13:01:14+02:00", true, as("2025-09-23T11:01:14Z")},
		{"2026-06-01T10:00:00", false, nil},
		{"2026-06-01", false, nil},
		{"1970-01-01T00:00:00Z", true, as("1970-01-01T00:00:00Z")},
		{"yesterday", false, nil},
	}
	table(t, rows, "DAT-17.timestamps.json", func(t *testing.T, r row) {
		m, err := ParseTime(r.V, nil)
		if (err == nil) != r.OK {
			t.Errorf("%q: error %v, want ok %v", r.V, err, r.OK)
			return
		}
		if r.OK {
			want, _ := time.Parse(time.RFC3339Nano, *r.As)
			if !m.Time().Equal(want) {
				t.Errorf("%q: got %s, want %s", r.V, m.Time(), want)
			}
		}
	})
}

// Marks order the versions of a record as the instants that they stand for, not
// as their texts.
func TestMarksCompareAsInstants(t *testing.T) {
	type row struct {
		Kind   string
		Values []string
		Max    string
		Equal  bool
		SameAs string `json:"same_as"`
		Error  string
	}
	rows := []row{{Kind: "instant", Values: []string{"2026-01-01T00:00:00Z", "2026-01-01T00:00:00.5Z"}, Max: "2026-01-01T00:00:00.5Z"}}
	table(t, rows, "cursor_compare_table.json", func(t *testing.T, r row) {
		if r.Kind != "instant" {
			return // sequence numbers are integers, and tokens are never compared
		}
		var marks []Mark
		for _, v := range r.Values {
			m, err := ParseTime(v, nil)
			if (err != nil) != (r.Error != "") || r.Error != "" && reason(err) != r.Error {
				t.Errorf("%s: error %v, want %q", v, err, r.Error)
			}
			marks = append(marks, m)
		}
		switch {
		case r.Max != "":
			if want, _ := ParseTime(r.Max, nil); slices.Max(marks) != want {
				t.Errorf("%v: the latest is %s, want %s", r.Values, slices.Max(marks).Time(), r.Max)
			}
		case r.Equal:
			if slices.Min(marks) != slices.Max(marks) {
				t.Errorf("%v: they differ", r.Values)
			}
		case r.SameAs != "":
			if want, _ := ParseTime(r.SameAs, nil); marks[0] != want {
				t.Errorf("%s is %s, want %s", r.Values[0], marks[0].Time(), r.SameAs)
			}
		}
	})
}

func TestParseTimeInAZone(t *testing.T) {
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	m, err := ParseTime("2026-01-15 01:50:26", zone)
	if want := time.Date(2026, 1, 15, 6, 50, 26, 0, time.UTC); err != nil || !m.Time().Equal(want) {
		t.Errorf("got %s %v, want %s", m.Time(), err, want)
	}
	if _, err := ParseTime("2026-01-15T01:50:26", nil); reason(err) != "naive_timestamp" {
		t.Errorf("a time without offset and zone: %v", err)
	}
}

func TestTimestamp(t *testing.T) {
	for text, want := range map[string]Mark{`null`: 0, `""`: 0, `"1970-01-01T00:00:01Z"`: 1e9} {
		var got Timestamp
		if err := json.Unmarshal([]byte(text), &got); err != nil || got.Mark() != want {
			t.Errorf("%s: got %d %v, want %d", text, got, err, want)
		}
	}
	var got Timestamp
	if err := json.Unmarshal([]byte(`1767225600`), &got); reason(err) != "bad_time" {
		t.Errorf("a number for a time: %v", err)
	}
}

func TestImpossibleTimesHaveANegativeMark(t *testing.T) {
	for name, m := range map[string]Mark{
		"milliseconds for seconds": UnixSeconds(1767225600000),
		"before 1970":              At(time.Date(1969, 12, 31, 23, 59, 59, 0, time.UTC)),
		"the zero time":            At(time.Time{}),
		"the year 300000":          At(time.Date(300000, 1, 1, 0, 0, 0, 0, time.UTC)),
	} {
		if m >= 0 {
			t.Errorf("%s: mark %d, want a negative one", name, m)
		}
	}
	if got := UnixMillis(1767225600001).Time().Format(time.RFC3339Nano); got != "2026-01-01T00:00:00.001Z" {
		t.Errorf("milliseconds: got %s", got)
	}
}

func TestNextLink(t *testing.T) {
	type row struct {
		Link string  `json:"link"`
		Next *string `json:"next"`
	}
	two := "https://x/api?page=2"
	rows := []row{{`<https://x/api?page=2>; rel="next"`, &two}, {`<https://x/9>; title="page;rel=next"; rel="last"`, nil}}
	base, _ := url.Parse("https://x/api?page=1")
	table(t, rows, "link_header_table.json", func(t *testing.T, r row) {
		resp := &Response{URL: base, Header: http.Header{"Link": {r.Link}}}
		got, err := resp.NextLink()
		if err != nil || r.Next == nil && got != "" || r.Next != nil && got != *r.Next {
			t.Errorf("%s: got %q %v, want %v", r.Link, got, err, r.Next)
		}
	})
	resp := &Response{URL: base, Header: http.Header{"Link": {`<https://x/1>; rel="prev"`, `<?page=2>; rel=NEXT`}}}
	if got, err := resp.NextLink(); err != nil || got != "https://x/api?page=2" {
		t.Errorf("several headers, relative: got %q %v", got, err)
	}
}

func TestNextURL(t *testing.T) {
	type row struct {
		Base, Next string
		Expect     *string
	}
	two := "https://x/api?page=2"
	rows := []row{{"https://x/api?page=1", "?page=2", &two}, {"https://x/api?page=1", "https://y/api?page=2", nil}}
	table(t, rows, "next_url_table.json", func(t *testing.T, r row) {
		base, err := url.Parse(r.Base)
		if err != nil {
			t.Fatal(err)
		}
		got, err := (&Response{URL: base}).NextURL(r.Next)
		switch {
		case r.Expect != nil && (err != nil || got != *r.Expect):
			t.Errorf("%q: got %q %v, want %q", r.Next, got, err, *r.Expect)
		case r.Expect == nil && r.Next == "" && (err != nil || got != ""):
			t.Errorf("an empty reference: got %q %v, want the end", got, err)
		case r.Expect == nil && r.Next != "" && err == nil:
			t.Errorf("%q: got %q, want an error", r.Next, got)
		}
	})
}

type item struct {
	ID      ID        `json:"id"`
	Updated Timestamp `json:"updated_at"`
}

func toRecord(i item) Record { return Record{ID: string(i.ID), Mark: i.Updated.Mark()} }

func TestDecode(t *testing.T) {
	body := `{"items":[
		{"id": 9007199254740993, "updated_at":"2026-06-01T10:00:00Z", "x": "<&>" },
		{"id":"a","ID":"b"},
		{"id":1,"id":2},
		{"id":true},
		{"id":5,"updated_at":"2026-06-01T10:00:00"},
		7,
		{"x":1}
	],"next":null}`
	got, err := Decode([]byte("\xef\xbb\xbf"+body), "items", toRecord)
	if err != nil || len(got) != 7 {
		t.Fatalf("%d records, %v", len(got), err)
	}
	want := []struct{ id, reason string }{
		{"9007199254740993", ""}, {"a", ""}, {"", "duplicate_key"}, {"", "bad_external_id"},
		{"", "naive_timestamp"}, {"", "unexpected_type"}, {"", ""},
	}
	for i, w := range want {
		if got[i].ID != w.id && w.reason == "" || reason(got[i].Err) != w.reason {
			t.Errorf("element %d: got id %q, error %v, want %+v", i, got[i].ID, got[i].Err, w)
		}
		if len(got[i].Data) == 0 {
			t.Errorf("element %d has lost its bytes", i)
		}
	}
	if want := `{"id": 9007199254740993, "updated_at":"2026-06-01T10:00:00Z", "x": "<&>" }`; string(got[0].Data) != want {
		t.Errorf("bytes %s, want %s", got[0].Data, want)
	}
}

func TestDecodeRefusesWhatIsNoPage(t *testing.T) {
	for _, body := range []string{"", " \n", "<html>", `{"items":[]} <html>`, `{"items":[{"id":1}`, `{"error":"x"}`, `{"items":{}}`, `[]`, `{"items":[{"id":2,"n":NaN}]}`} {
		if records, err := Decode([]byte(body), "items", toRecord); err == nil {
			t.Errorf("%q gave %d records and no error", body, len(records))
		}
	}
}

// handler is a round tripper that answers from a function.
type handler func(*http.Request) *http.Response

func (h handler) RoundTrip(r *http.Request) (*http.Response, error) { return h(r), nil }

func TestClientAsksItsOriginOnly(t *testing.T) {
	var asked string
	h := handler(func(r *http.Request) *http.Response {
		asked = r.URL.String()
		return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader("{}")), Request: r}
	})
	c, err := NewClient("https://api.example.com/v1", h, h)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ ref, want string }{
		{"items", "https://api.example.com/v1/items?a=b"},
		{"/items?x=1", "https://api.example.com/v1/items?a=b&x=1"},
		{"", "https://api.example.com/v1?a=b"},
		{"https://API.example.com:443/v1/items?page=2", "https://API.example.com:443/v1/items?a=b&page=2"},
		{"/repos/a%2Fb/issues", "https://api.example.com/v1/repos/a%2Fb/issues?a=b"},
	}
	for _, tt := range tests {
		if _, err := c.Get(t.Context(), tt.ref, url.Values{"a": {"b"}}); err != nil || asked != tt.want {
			t.Errorf("%q: asked %s %v, want %s", tt.ref, asked, err, tt.want)
		}
	}
	for _, ref := range []string{"https://evil.example.com/", "http://api.example.com/", "https://api.example.com:444/", "//evil.example.com/x", "https://api.example.com.evil.com/"} {
		asked = ""
		if _, err := c.Get(t.Context(), ref, nil); err == nil || asked != "" {
			t.Errorf("%q was asked for: %s %v", ref, asked, err)
		}
	}
	for _, base := range []string{"", "api.example.com", "ftp://x", "https://user:secret@x", "https://"} {
		if _, err := NewClient(base, h, h); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("base %q: %v", base, err)
		}
	}
}

func TestAnswersOtherThanGood(t *testing.T) {
	status := 0
	h := handler(func(r *http.Request) *http.Response {
		return &http.Response{StatusCode: status, Header: http.Header{"X-A": {"1"}}, Body: io.NopCloser(strings.NewReader("why")), Request: r}
	})
	c, _ := NewClient("https://api.example.com", h, h)
	status = 404
	_, err := c.Get(t.Context(), "/x?token=secret", nil)
	var answer *HTTPError
	if !errors.As(err, &answer) || answer.Status != 404 || string(answer.Body) != "why" || strings.Contains(err.Error(), "secret") {
		t.Errorf("404: %v %+v", err, answer)
	}
	status = 304
	if _, err := c.Open(t.Context(), "/x", nil); !errors.Is(err, ErrNotModified) {
		t.Errorf("304: %v", err)
	}
}

func TestToken(t *testing.T) {
	tests := []struct {
		body, want string
		wrong      bool
	}{
		{`{"next":"A"}`, "A", false},
		{`{"next":"0"}`, "0", false},
		{`{"next":" "}`, " ", false},
		{`{"next":12345678901234567890}`, "12345678901234567890", false},
		{`{"next":""}`, "", false},
		{`{"next":null}`, "", false},
		{`{"next":false}`, "", false},
		{`{}`, "", false},
		{`{"next":{"a":1}}`, "", true},
		{`{"next":true}`, "", true},
		{`[]`, "", true},
	}
	for _, tt := range tests {
		if got, err := Token([]byte(tt.body), "next"); got != tt.want || (err != nil) != tt.wrong {
			t.Errorf("%s: got %q %v, want %q", tt.body, got, err, tt.want)
		}
	}
	if got, err := Token([]byte(`{"meta":{"page":{"next":"B"}}}`), "meta.page.next"); got != "B" || err != nil {
		t.Errorf("nested: got %q %v", got, err)
	}
	if got, err := Token([]byte(`{"meta":null}`), "meta.page.next"); got != "" || err != nil {
		t.Errorf("below null: got %q %v", got, err)
	}
}

func TestChoose(t *testing.T) {
	all := []Stream{{Name: "pages"}, {Name: "rows"}, {Name: "users"}}
	names := func(streams []Stream) (out []string) {
		for _, s := range streams {
			out = append(out, s.Name)
		}
		return out
	}
	for _, c := range []struct{ only, want []string }{
		{nil, []string{"pages", "rows", "users"}},
		{[]string{"users", "pages"}, []string{"pages", "users"}},
		{[]string{"rows", "rows"}, []string{"rows"}},
	} {
		if got, err := Choose(all, c.only); err != nil || !slices.Equal(names(got), c.want) {
			t.Errorf("only %v: got %v, %v, want %v", c.only, names(got), err, c.want)
		}
	}
	_, err := Choose(all, []string{"pages", "row"})
	if wrong, ok := errors.AsType[*OptionError](err); !ok || wrong.Option != "streams" || err.Error() != `streams: there is no stream "row", only pages, rows, users` {
		t.Errorf("got %v", err)
	}
	if got := names(all); !slices.Equal(got, []string{"pages", "rows", "users"}) {
		t.Errorf("the streams that were chosen from are %v now", got)
	}
}
