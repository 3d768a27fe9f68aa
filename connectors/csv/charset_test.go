package csv

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"strings"
	"testing"
	stdutf16 "unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/encoding/japanese"
)

func gzipped(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func inUTF16(text string, order binary.AppendByteOrder) string {
	var b []byte
	for _, u := range stdutf16.Encode([]rune(text)) {
		b = order.AppendUint16(b, u)
	}
	return string(b)
}

func TestEncodings(t *testing.T) {
	little, big := binary.LittleEndian, binary.BigEndian
	const text = "id,n\r\n1,\"ü, €\r\n𝄞\"\r\n2,x\r\n"
	want := []string{`1 {"id":"1","n":"ü, €\r\n𝄞"}`, `2 {"id":"2","n":"x"}`}
	japaneseText, err := japanese.ISO2022JP.NewEncoder().String("id,n\n1,日本\n2,x\n")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, encoding, text string
		want                 []string
	}{
		{"utf-8", "utf-8", text, want},
		{"utf-8 with mark", "utf-8", "\ufeff" + text, want},
		{"utf-8 with mark and a quoted header", "utf-8", "\ufeff\"id\",\"n\"\n1,a\n", []string{`1 {"id":"1","n":"a"}`}},
		{"utf-16le by its mark", "utf-8", inUTF16("\ufeff"+text, little), want},
		{"utf-16be by its mark", "utf-8", inUTF16("\ufeff"+text, big), want},
		{"utf-16 declared", "utf-16", inUTF16("\ufeff"+text, big), want},
		{"utf-16le declared, without mark", "UTF-16LE", inUTF16(text, little), want},
		{"utf-16be declared, with mark", "utf-16be", inUTF16("\ufeff"+text, big), want},
		{"utf-16 with half a pair", "utf-16le", inUTF16("id,n\n1,", little) + "\x00\xd8" + inUTF16("\n2,x\n", little), []string{"! line 2 invalid_encoding", want[1]}},
		{"utf-16 with the other half", "utf-16be", inUTF16("id,n\n1,", big) + "\xdc\x00" + inUTF16("\n2,\ufffd\n", big), []string{"! line 2 invalid_encoding", `2 {"id":"2","n":"` + "\ufffd" + `"}`}},
		{"windows-1252", "windows-1252", "id,n\n1,M\xfcller \x80\x92\n", []string{`1 {"id":"1","n":"Müller €’"}`}},
		{"windows-1252, the delimiter too", "windows-1252", "id\xa7n\n1\xa7\xfc\n", []string{`1 {"id":"1","n":"ü"}`}},
		{"a byte that the table lacks", "windows-1253", "id,n\n1,\xd2\n2,\xe1\n", []string{"! line 2 invalid_encoding", `2 {"id":"2","n":"α"}`}},
		{"shift_jis, where a byte looks like a delimiter", "shift_jis", "id|n\n1|\x83\x7c\n", []string{`1 {"id":"1","n":"ポ"}`}},
		{"iso-2022-jp", "iso-2022-jp", japaneseText, []string{`1 {"id":"1","n":"日本"}`, `2 {"id":"2","n":"x"}`}},
		{"a cut character", "euc-jp", "id,n\n1,\xb0\n2,x\n", []string{"! line 2 invalid_encoding", `2 {"id":"2","n":"x"}`}},
		{"compressed", "utf-8", gzipped(t, text), want},
		{"compressed twice over", "utf-8", gzipped(t, text[:9]) + gzipped(t, text[9:]), want},
		{"compressed utf-16", "utf-8", gzipped(t, inUTF16("\ufeff"+text, little)), want},
	}
	for _, test := range tests {
		set := func(o *Options) {
			o.Key, o.Encoding, o.PageRows = []string{"id"}, test.encoding, 1
			for _, d := range []string{"\xa7", "|"} {
				if strings.Contains(test.text[:min(3, len(test.text))], d) {
					o.Delimiter = map[string]string{"\xa7": "§", "|": "|"}[d]
				}
			}
		}
		r, err := walkAll(t, open(t, feedFile(t, test.text), set), "")
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if diff := cmp.Diff(test.want, rows(r.records)); diff != "" {
			t.Errorf("%s: -want +got\n%s", test.name, diff)
		}
	}
}

// Raw is the row in the file's own bytes, also where they are not UTF-8.
func TestRawBytes(t *testing.T) {
	path := feedFile(t, "id;n\r\n\r\n\"1\";\"\xfc\r\n\"\r\n2;\xe4\n3;c")
	r := mustWalk(t, open(t, path, func(o *Options) {
		o.Key, o.Encoding, o.Delimiter, o.AllowUnterminated = []string{"id"}, "iso-8859-1", ";", true
	}), "")
	var got []string
	for _, x := range r.records {
		got = append(got, x.Place+" "+string(x.Raw))
	}
	want := []string{"line 3 \"1\";\"\xfc\r\n\"\r\n", "line 5 2;\xe4\n", "line 6 3;c"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestExactJSON(t *testing.T) {
	path := feedFile(t, "id,\"a\"\"\\<\n&>\"\n1,\"\\ \"\" < > & \u2028 \t \x01 \x7f ü\"\n")
	r := mustWalk(t, open(t, path, keyed("id")), "")
	want := `1 {"id":"1","a\"\\<\n&>":"\\ \" < > & ` + "\u2028" + ` \t \u0001 ` + "\x7f" + ` ü"}`
	if diff := cmp.Diff([]string{want}, rows(r.records)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// FuzzUTF16: what comes out is the text, however the bytes are split into reads.
func FuzzUTF16(f *testing.F) {
	f.Add("aü€𝄞", 1, true)
	f.Fuzz(func(t *testing.T, text string, size int, big bool) {
		text = strings.ToValidUTF8(text, "x")
		order := binary.AppendByteOrder(binary.LittleEndian)
		if big {
			order = binary.BigEndian
		}
		src := &pieces{text: inUTF16(text, order), size: max(1, size%7)}
		var b bytes.Buffer
		if _, err := b.ReadFrom(&utf16Reader{src: src, big: big}); err != nil {
			t.Fatal(err)
		}
		if got := b.String(); got != text {
			t.Errorf("got %q, want %q", got, text)
		}
	})
}

// pieces returns a few bytes a read.
type pieces struct {
	text string
	size int
}

func (p *pieces) Read(b []byte) (int, error) {
	if p.text == "" {
		return 0, io.EOF
	}
	n := copy(b, p.text[:min(p.size, len(p.text))])
	p.text = p.text[n:]
	return n, nil
}
