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
	if len(path) == 0 {
		return elements(text, visit)
	}
	var value []byte
	err := whole(text, func(key, v []byte) error {
		if KeyIs(key, path[0]) {
			value = v
		}
		return nil
	})
	if err == nil && value != nil {
		value, err = Lookup(value, path[1:]...)
	}
	switch {
	case err != nil:
		return err
	case value == nil:
		return fmt.Errorf("no field %q", path[len(path)-1])
	}
	return elements(value, visit)
}

func elements(text []byte, visit func(element []byte) error) error {
	s := scanner{b: text, maxDepth: MaxDepth}
	at := s.space(0)
	switch {
	case at >= len(text):
		return s.syntax(at, "")
	case string(bytes.TrimSpace(text)) == "null":
		return nil
	case text[at] != '[':
		if err := Valid(text); err != nil {
			return err
		}
		return fmt.Errorf("expected a list, got %s", kind(text[at]))
	}
	end, err := s.array(at, 1, visit)
	if err != nil {
		return err
	}
	return s.end(end)
}

// Lookup returns the value at path, or nil if there is none: below null there
// is nothing. Of a key that occurs twice the last counts, as in encoding/json.
func Lookup(text []byte, path ...string) ([]byte, error) {
	for _, name := range path {
		if string(text) == "null" {
			return nil, nil
		}
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
// with its quotes, and the value. What follows the object is not looked at.
func Fields(text []byte, visit func(key, value []byte) error) error {
	_, err := fields(text, visit)
	return err
}

// whole is Fields where nothing may follow the object.
func whole(text []byte, visit func(key, value []byte) error) error {
	end, err := fields(text, visit)
	if err != nil {
		return err
	}
	return (&scanner{b: text}).end(end)
}

func fields(text []byte, visit func(key, value []byte) error) (end int, err error) {
	s := scanner{b: text, maxDepth: MaxDepth}
	at := s.space(0)
	if at >= len(text) {
		return at, s.syntax(at, "")
	}
	if text[at] != '{' {
		if err := Valid(text); err != nil {
			return at, err
		}
		return at, fmt.Errorf("expected an object, got %s", kind(text[at]))
	}
	return s.object(at, 1, visit)
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
