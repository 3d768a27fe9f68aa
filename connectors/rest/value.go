package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// tree decodes one JSON value for expressions: objects as map[string]any, lists
// as []any, texts, booleans, nil. A whole number that fits is an int; any other
// number is the text that it was spelt with, since a float64 would change it.
func tree(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("there is more than one value")
	}
	return exact(v), nil
}

// exact replaces the numbers of a decoded value.
func exact(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := strconv.Atoi(v.String()); err == nil {
			return n
		}
		return v.String()
	case map[string]any:
		for k, e := range v {
			v[k] = exact(e)
		}
	case []any:
		for i, e := range v {
			v[i] = exact(e)
		}
	}
	return v
}

// text spells a value of an expression: a text, a whole number or a boolean;
// nil is "". Anything else has no one spelling and is an error.
func text(v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	case int:
		return strconv.Itoa(v), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case bool:
		return strconv.FormatBool(v), nil
	case float64:
		return "", fmt.Errorf("it comes to a number that is not whole, which would not be exact")
	}
	return "", fmt.Errorf("it comes to %s, not to a text or a whole number", kindOf(v))
}

// truth returns a condition's value: nil is false.
func truth(v any) (bool, error) {
	switch v := v.(type) {
	case nil:
		return false, nil
	case bool:
		return v, nil
	}
	return false, fmt.Errorf("it comes to %s, not to true or false", kindOf(v))
}

func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "a text"
	case bool:
		return "a boolean"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return strings.TrimPrefix(fmt.Sprintf("a %T", v), "a interface")
}
