package rawjson

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/syncdhq/syncd/internal/casebook"
)

func TestCheck(t *testing.T) {
	tests := []struct {
		text string
		want Problem // "" is fit to be stored
	}{
		{`{"a":"b\\u0000"}`, ""},
		{`{"a":"b\u0000"}`, NulEscape},
		{`"\ud83d\ude00"`, ""},
		{`"\ud800"`, Surrogate},
		{`"\ude00\ud83d"`, Surrogate},
		{`"\ud800A"`, Surrogate},
		{"\"a\xffb\"", InvalidUTF8},
		{"{\"a\xff\":1}", InvalidUTF8},
		{`1e400`, ""},
		{`1e200000`, NumberRange},
		{`-1E+200000`, NumberRange},
		{`1e99999999999999999999`, NumberRange},
		{`1e-20000`, NumberRange},
		{`9007199254740993`, ""},
		{`[1,2`, Syntax},
		{`[1,2]]`, Syntax},
		{`{"a":1} {"a":2}`, Syntax},
		{`NaN`, Syntax},
		{`01`, Syntax},
		{`1.`, Syntax},
		{`{"a" 1}`, Syntax},
		{`{'a':1}`, Syntax},
		{"\"a\tb\"", Syntax},
		{``, Syntax},
		{"\xef\xbb\xbf{}", Syntax},
		{strings.Repeat("[", 200) + strings.Repeat("]", 200), ""},
		{strings.Repeat("[", 201) + strings.Repeat("]", 201), TooDeep},
	}
	for _, tt := range tests {
		err := Check([]byte(tt.text), 200)
		var got Problem
		var e *Error
		if errors.As(err, &e) {
			got = e.Problem
		} else if err != nil {
			t.Errorf("%.60q: error %v has no problem", tt.text, err)
		}
		if got != tt.want {
			t.Errorf("%.60q: got %q (%v), want %q", tt.text, got, err, tt.want)
		}
	}
}

// Every text that encoding/json takes is valid here, and no other.
func TestValidAgreesWithTheStandardLibrary(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(casebook.Shared(t, "data", "json-testsuite"), "*.json"))
	if err != nil || len(files) < 150 {
		t.Fatalf("found %d files, %v", len(files), err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(f)
		got, want := Valid(text) == nil, json.Valid(text)
		if got != want {
			t.Errorf("%s: valid %v, the standard library says %v", name, got, want)
		}
		switch {
		case name[0] == 'y' && !got:
			t.Errorf("%s must be accepted", name)
		case name[0] == 'n' && got:
			t.Errorf("%s must be refused", name)
		}
	}
}

func TestElements(t *testing.T) {
	tests := []struct {
		text, path string
		want       []string
		err        string
	}{
		{` [ 1 , {"a":[2]} , "x,]" ] `, "", []string{"1", `{"a":[2]}`, `"x,]"`}, ""},
		{`{"data":{"items":[1,2]},"next":null}`, "data.items", []string{"1", "2"}, ""},
		{`{"items":[]}`, "items", nil, ""},
		{`{"items":null}`, "items", nil, ""},
		{`{"item\u0073":[1]}`, "items", []string{"1"}, ""},
		{`{"items":[1]} trailing`, "items", nil, "more bytes"},
		{`[1] [2]`, "", []string{"1"}, "more bytes"},
		{`{"items":[1`, "items", nil, "end of the text"},
		{`{"ITEMS":[1]}`, "items", nil, "no field"},
		{`{"items":{"a":1}}`, "items", nil, "expected a list, got an object"},
		{`{"a":[1,2],"items":[3]`, "items", nil, "end of the text"},
		{``, "", nil, "end of the text"},
	}
	for _, tt := range tests {
		var path, got []string
		if tt.path != "" {
			path = strings.Split(tt.path, ".")
		}
		err := Elements([]byte(tt.text), path, func(e []byte) error {
			got = append(got, string(e))
			return nil
		})
		if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%q: error %v, want %q", tt.text, err, tt.err)
		}
		if strings.Join(got, "|") != strings.Join(tt.want, "|") {
			t.Errorf("%q: got %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestEqual(t *testing.T) {
	type pair struct {
		A, B  string
		Equal bool
	}
	pairs := []pair{
		{`{"a":1,"b":2}`, `{"b":2,"a":1}`, true},
		{`{"a":[1,2]}`, `{"a":[2,1]}`, false},
		{`1.10`, `1.1`, true},
		{`-0`, `0.00`, true},
		{`1e2`, `100.0`, true},
		{`0.001e3`, `1`, true},
		{`9007199254740992`, `9007199254740993`, false},
		{`1e400`, `1e401`, false},
		{`1e999999999`, `1e999999998`, false},
		{`"é"`, `"\u00e9"`, true},
		{`"1"`, `1`, false},
		{`null`, `false`, false},
		{`{"a":null}`, `{}`, false},
		{`[]`, `{}`, false},
		{`[1,[2]]`, ` [ 1 , [ 2 ] ] `, true},
	}
	for _, p := range pairs {
		checkEqual(t, p.A, p.B, p.Equal)
	}
	t.Run("shared", func(t *testing.T) {
		var shared []pair
		b, err := os.ReadFile(casebook.Shared(t, "faults", "cases", "json_equal_table.json"))
		if err == nil {
			err = json.Unmarshal(b, &shared)
		}
		if err != nil || len(shared) == 0 {
			t.Fatalf("%d cases, %v", len(shared), err)
		}
		for _, p := range shared {
			checkEqual(t, p.A, p.B, p.Equal)
		}
	})
}

func checkEqual(t *testing.T, a, b string, want bool) {
	t.Helper()
	if got := Equal([]byte(a), []byte(b)); got != want {
		t.Errorf("Equal(%s, %s) = %v, want %v", a, b, got, want)
	}
}

func FuzzValid(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5e-3,"\ud83d\ude00",null,true]}`, `[`, `"\u12`, `-`, `[[]]`, `{"a":{"b":""}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if got, want := Valid(text) == nil, json.Valid(text); got != want {
			t.Fatalf("valid %v, the standard library says %v", got, want)
		}
		if Check(text, 200) == nil && !json.Valid(text) {
			t.Fatal("fit to be stored, yet not JSON")
		}
		if json.Valid(text) && !Equal(text, append([]byte(" "), text...)) {
			t.Fatal("not equal to itself")
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	text := []byte(`{"id":123456,"name":"` + strings.Repeat("record ", 50) + `","tags":["a","b"],"total":12.50,"updated_at":"2026-06-01T10:00:00Z"}`)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if err := Check(text, 200); err != nil {
			b.Fatal(err)
		}
	}
}
