package rawjson

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Elements hands each element of the array at path in text to visit, in
// order, as a slice of text. The path names object fields from the outside in;
// an empty path is the text itself. The whole text is checked to be one valid
// JSON value, so that a cut or concatenated answer is an error and never a
// short list; a null at the path is an empty array.
func Elements(text []byte, path []string, visit func(element []byte) error) error {
	s := scanner{b: text, maxDepth: MaxDepth}
	at := s.space(0)
	if len(path) > 0 {
		if err := Valid(text); err != nil {
			return err
		}
		value, err := Lookup(text, path...)
		if err != nil {
			return err
		}
		if value == nil {
			return fmt.Errorf("no field %q", path[len(path)-1])
		}
		return Elements(value, nil, visit)
	}
	if at < len(text) && text[at] != '[' {
		if string(bytes.TrimSpace(text)) == "null" {
			return nil
		}
		if err := Valid(text); err != nil {
			return err
		}
		return fmt.Errorf("expected a list, got %s", kind(text[at]))
	}
	if at >= len(text) {
		return s.syntax(at, "")
	}
	end, err := s.array(at, 1, visit)
	if err != nil {
		return err
	}
	if end = s.space(end); end < len(text) {
		return s.syntax(end, "more bytes after the end of the value")
	}
	return nil
}

// Lookup returns the value at path, or nil if there is none. Of a key that
// occurs twice the last counts, as in encoding/json.
func Lookup(text []byte, path ...string) ([]byte, error) {
	for _, name := range path {
		var found []byte
		err := Fields(text, func(key, value []byte) error {
			if KeyIs(key, name) {
				found = value
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if found == nil {
			return nil, nil
		}
		text = found
	}
	return text, nil
}

// Fields hands each field of the object in text to visit, in order: the key
// with its quotes, and the value.
func Fields(text []byte, visit func(key, value []byte) error) error {
	s := scanner{b: text, maxDepth: MaxDepth}
	at := s.space(0)
	if at >= len(text) {
		return s.syntax(at, "")
	}
	if text[at] != '{' {
		return fmt.Errorf("expected an object, got %s", kind(text[at]))
	}
	_, err := s.object(at, 1, visit)
	return err
}

// KeyIs reports whether a key with its quotes spells name, exactly.
func KeyIs(key []byte, name string) bool {
	inner := key[1 : len(key)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner) == name
	}
	var s string
	return json.Unmarshal(key, &s) == nil && s == name
}

func kind(c byte) string {
	switch c {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a text"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}
