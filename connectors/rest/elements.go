package rest

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/clbanning/mxj/v2"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/rawjson"
)

// An element is one entry of an answer's list.
type element struct {
	data []byte // one JSON value: the provider's bytes, or made of raw
	raw  []byte // what it was made of, where that is not data
	err  error  // why there is no data
}

// accepts are the formats of answers and the types that requests ask for.
var accepts = map[string]string{
	"json":   "application/json",
	"ndjson": "application/x-ndjson, application/ndjson, application/jsonl",
	"csv":    "text/csv",
	"xml":    "application/xml, text/xml",
}

// An answer is a body as expressions see it.
type answer struct {
	json     []byte // nil where the body has no one value: lines, a table
	elements []element
}

var utf8BOM = []byte("\xef\xbb\xbf")

// read splits a body into its elements. steps lead from the body to the list,
// which may be missing if optional.
func read(format string, body []byte, steps []string, optional bool) (answer, error) {
	body = bytes.TrimPrefix(body, utf8BOM)
	if len(bytes.TrimSpace(body)) == 0 && format != "csv" && format != "ndjson" {
		return answer{}, errors.New("the answer is empty")
	}
	var a answer
	var err error
	switch format {
	case "ndjson":
		a.elements = readLines(body)
	case "csv":
		a.elements, err = readTable(body)
	case "xml":
		if a.json, err = xmlToJSON(body); err == nil {
			a.elements, err = readXML(a.json, steps, optional)
		}
	default:
		a.json = body
		a.elements, err = readJSON(body, steps, optional)
	}
	if err != nil {
		return answer{}, fmt.Errorf("the answer is not as expected: %w%s", err, inside(a.json, steps))
	}
	return a, nil
}

// inside names the fields of a body in which there is no list at steps.
func inside(body []byte, steps []string) string {
	var names []string
	err := rawjson.Fields(body, func(key, _ []byte) error {
		if len(names) < 10 {
			names = append(names, strings.Trim(string(key), `"`))
		}
		return nil
	})
	if err != nil || len(names) == 0 || len(steps) > 0 && slices.Contains(names, steps[0]) {
		return ""
	}
	return fmt.Sprintf(" (the answer is an object of %s)", clip(strings.Join(names, ", ")))
}

func readJSON(body []byte, steps []string, optional bool) ([]element, error) {
	if optional {
		if err := rawjson.Valid(body); err != nil {
			return nil, err
		}
		if list, err := lookup(body, steps); err != nil || list == nil {
			return nil, err
		}
	}
	var out []element
	err := rawjson.Elements(body, steps, func(e []byte) error {
		out = append(out, element{data: e})
		return nil
	})
	return out, err
}

// readLines reads newline-delimited JSON (https://github.com/ndjson/ndjson-spec).
// A line that is not JSON costs that line.
func readLines(body []byte) []element {
	var out []element
	for line := range bytes.Lines(body) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		if err := rawjson.Valid(line); err != nil {
			out = append(out, element{raw: line, err: &syncd.RejectError{Reason: "invalid_json", Err: err}})
			continue
		}
		out = append(out, element{data: line})
	}
	return out
}

// readTable reads a CSV with a header (RFC 4180) into objects of texts, in the
// order of the columns. A row with more or fewer fields costs that row; quotes
// that do not match are an error, since what follows them can't be trusted.
func readTable(body []byte) ([]element, error) {
	r := csv.NewReader(bytes.NewReader(body))
	r.FieldsPerRecord = -1
	header, err := r.Read()
	if err == io.EOF {
		return nil, errors.New("there is no header line")
	}
	if err != nil {
		return nil, err
	}
	for i, name := range header {
		if !utf8.ValidString(name) {
			return nil, fmt.Errorf("the name of the column %d is not UTF-8", i+1)
		}
		if name == "" || slices.Contains(header[:i], name) {
			return nil, fmt.Errorf("the column %d is named %q, which is empty or taken", i+1, clip(name))
		}
	}
	var out []element
	for {
		start := r.InputOffset()
		row, err := r.Read()
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		e := element{raw: bytes.TrimSpace(body[start:r.InputOffset()])}
		if !utf8.Valid(e.raw) {
			e.err = syncd.Reject("invalid_utf8", "the row is not UTF-8")
		} else if len(row) != len(header) {
			e.err = syncd.Reject("wrong_field_count", "the row has %d fields, and the header has %d", len(row), len(header))
		} else if e.data, err = object(header, row); err != nil {
			return nil, err
		}
		out = append(out, e)
	}
}

func object(names, values []string) ([]byte, error) {
	b := []byte{'{'}
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		for j, s := range []string{name, values[i]} {
			quoted, err := json.Marshal(s)
			if err != nil {
				return nil, err
			}
			if j > 0 {
				b = append(b, ':')
			}
			b = append(b, quoted...)
		}
	}
	return append(b, '}'), nil
}

// xmlToJSON makes JSON of XML: elements are fields, attributes are fields that
// begin with -, a text beside them is #text, and all values are texts.
func xmlToJSON(body []byte) ([]byte, error) {
	r := bytes.NewReader(body)
	m, err := mxj.NewMapXmlReader(r, false)
	if err != nil {
		return nil, err
	}
	// What follows the root may be white space and comments, and no more.
	rest := xml.NewDecoder(r)
	for {
		switch t, err := rest.Token(); t := t.(type) {
		case nil:
			if err != io.EOF {
				return nil, err
			}
			return json.Marshal(map[string]any(m))
		case xml.Comment, xml.ProcInst:
		case xml.CharData:
			if len(bytes.TrimSpace(t)) > 0 {
				return nil, errors.New("there is text behind the root element")
			}
		default:
			return nil, errors.New("there is a second root element")
		}
	}
}

// readXML returns the elements at steps: XML does not tell a list of one from
// an element, and no element from an empty list. So the last step alone may be
// missing: where one before it is, the answer is another than was expected.
func readXML(body []byte, steps []string, optional bool) ([]element, error) {
	value := body
	for i, step := range steps {
		var err error
		if value, err = lookup(value, []string{step}); err != nil {
			return nil, err
		}
		if len(value) == 0 && i < len(steps)-1 && !optional {
			return nil, fmt.Errorf("there is no element %q", step)
		}
		if len(value) == 0 || string(value) == `""` {
			return nil, nil // an element without content is a text of none
		}
	}
	if value[0] != '[' {
		return []element{{data: value}}, nil
	}
	return readJSON(value, nil, false)
}
