package csv

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/syncdhq/syncd"
)

// record turns a row into a record. number is its line counted over all files
// of the run. A row that can't be ingested has its Err.
func (t *table) record(sp span, number int64) syncd.Record {
	r := syncd.Record{Raw: bytes.Clone(sp.raw)}
	if r.Err = t.malformed(sp); r.Err != nil {
		return r
	}
	values, size := t.values[:0], 2
	for i, f := range sp.fields {
		v := t.charset.text(f)
		values = append(values, v)
		size += len(t.keys[i]) + len(v)
	}
	t.values = values
	r.Data = make([]byte, 0, size+size/16)
	for i, v := range values {
		r.Data = appendText(append(r.Data, t.keys[i]...), v)
	}
	r.Data = append(r.Data, `"}`...)
	if r.ID, r.Err = t.externalID(values, number); r.Err != nil {
		return r
	}
	if t.mark >= 0 {
		if r.Mark, r.Err = t.plan.markOf(string(values[t.mark])); r.Err != nil {
			return r
		}
	}
	r.Deleted = t.gone >= 0 && t.plan.gone[string(values[t.gone])]
	return r
}

// damaged is what spreadsheets make of a long number: its digits are lost, and
// different ids have become the same.
var damaged = regexp.MustCompile(`^[0-9.]+E\+[0-9]+$`)

// escapeKey keeps the values of a key of several columns apart: "/" joins them,
// so it is written %2F inside one, and "%" is written %25.
var escapeKey = strings.NewReplacer("%", "%25", "/", "%2F")

func (t *table) externalID(values [][]byte, number int64) (string, error) {
	switch t.plan.KeyFrom {
	case fromLine:
		return strconv.FormatInt(number, 10), nil
	case fromContent:
		h := sha256.New()
		var size [8]byte
		for _, v := range values {
			binary.BigEndian.PutUint64(size[:], uint64(len(v)))
			h.Write(size[:])
			h.Write(v)
		}
		return hex.EncodeToString(h.Sum(nil)[:16]), nil
	}
	parts := make([]string, 0, 8)
	for _, i := range t.id {
		v := string(values[i])
		if strings.TrimSpace(v) == "" {
			return "", syncd.Reject("missing_external_id", "the key column %q is empty", t.columns[i])
		}
		if strings.Contains(v, "E+") && damaged.MatchString(v) {
			id := ""
			if len(t.id) == 1 {
				id = v
			}
			return id, syncd.Reject("scientific_id", "%q in the key column %q is a number that a spreadsheet has rounded", v, t.columns[i])
		}
		if len(t.id) == 1 {
			return v, nil
		}
		parts = append(parts, escapeKey.Replace(v))
	}
	return strings.Join(parts, "/"), nil
}

// markOf reads the value of the mark column. An empty one is not known: 0.
func (p *plan) markOf(text string) (syncd.Mark, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return 0, nil
	}
	switch p.MarkFormat {
	case "":
		return syncd.ParseTime(text, p.zone)
	case "integer", "unix", "unix_ms":
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			return 0, syncd.Reject("bad_mark", "the mark %q is not a whole number from 0 to %d", text, int64(1<<63-1))
		}
		return numbered(p.MarkFormat, n, text)
	}
	zone := p.zone
	if zone == nil {
		zone = time.UTC // the layout has an offset
	}
	when, err := time.ParseInLocation(p.MarkFormat, text, zone)
	if err != nil {
		return 0, syncd.Reject("bad_time", "the mark %q is not a time as in %q", text, p.MarkFormat)
	}
	return inRange(syncd.At(when), text)
}

func numbered(format string, n int64, text string) (syncd.Mark, error) {
	switch {
	case n == 0:
		return 0, nil
	case format == "unix":
		return inRange(syncd.UnixSeconds(n), text)
	case format == "unix_ms":
		return inRange(syncd.UnixMillis(n), text)
	}
	return syncd.Mark(n), nil
}

func inRange(m syncd.Mark, text string) (syncd.Mark, error) {
	if m < 0 {
		return 0, syncd.Reject("bad_time", "the mark %q is out of range", text)
	}
	return m, nil
}

// appendText appends what stands between the quotes of a JSON text: b as it is,
// but for what RFC 8259, section 7, says must be escaped.
func appendText[T string | []byte](dst []byte, b T) []byte {
	const hexDigits = "0123456789abcdef"
	start := 0
	for i := range len(b) {
		c := b[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, b[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return append(dst, b[start:]...)
}
