package syncd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/syncdhq/syncd/internal/rawjson"
)

// Decode splits the list at path in the answer's body into records. The path
// names object fields from the outside in, joined by dots; "" is the body
// itself. Each element is decoded into a T by the exact names of T's `json`
// tags, which must be given, and handed to record, whose result gets the
// element's bytes as its Data. An element that can't be decoded becomes a
// record with Err, and the rest goes on. A body that is not one whole JSON
// value with a list at path is an error.
func Decode[T any](body []byte, path string, record func(T) Record) ([]Record, error) {
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, errors.New("the answer is empty")
	}
	var steps []string
	if path != "" {
		steps = strings.Split(path, ".")
	}
	names := tags[T]()
	var records []Record
	err := rawjson.Elements(body, steps, func(element []byte) error {
		records = append(records, decodeOne(element, names, record))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("the answer is not as expected: %w", err)
	}
	return records, nil
}

// Replay returns what to set as a stream's Replay: Decode for one element that
// was set aside, as it came or corrected.
func Replay[T any](record func(T) Record) func(context.Context, []byte) (Record, error) {
	return func(_ context.Context, raw []byte) (Record, error) {
		return decodeOne(raw, tags[T](), record), nil
	}
}

// DecodeBody decodes the answer's body as one value, for what stands beside
// the list: the token of the next page. Unknown fields are ignored.
func DecodeBody(body []byte, v any) error {
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	if err := json.Unmarshal(body, v); err != nil {
		return fmt.Errorf("the answer is not as expected: %w", err)
	}
	return nil
}

// IDIn returns the id at path in an answer's body: a text, or a whole number in
// plain digits. One that is missing or empty is an error.
func IDIn(body []byte, path string) (string, error) {
	value, err := rawjson.Lookup(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")), strings.Split(path, ".")...)
	var id ID
	if err == nil && len(value) > 0 {
		err = json.Unmarshal(value, &id)
	}
	if err == nil && id == "" {
		err = fmt.Errorf("it has no %s", path)
	}
	if err != nil {
		return "", fmt.Errorf("the answer is not as expected: %w", err)
	}
	return string(id), nil
}

// Token returns the token of the next page at path in the answer's body: a text
// or a number as it is spelt. Where it is missing, null, false or "", that is
// the end of the list: "".
func Token(body []byte, path string) (string, error) {
	value, err := rawjson.Lookup(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")), strings.Split(path, ".")...)
	if err != nil {
		return "", fmt.Errorf("the answer is not as expected: %w", err)
	}
	switch {
	case len(value) == 0 || string(value) == "null" || string(value) == "false":
		return "", nil
	case value[0] == '"':
		var token string
		err := json.Unmarshal(value, &token)
		return token, err
	case value[0] == '-' || value[0] >= '0' && value[0] <= '9':
		return string(value), nil
	}
	return "", fmt.Errorf("the answer is not as expected: the token %s is %s", path, short(value))
}

func decodeOne[T any](element []byte, names []string, record func(T) Record) Record {
	reduced, err := pick(element, names)
	if err != nil {
		return Record{Data: element, Err: err}
	}
	var v T
	if err := json.Unmarshal(reduced, &v); err != nil {
		var reject *RejectError
		if !errors.As(err, &reject) {
			err = &RejectError{"unexpected_type", err}
		}
		return Record{Data: element, Err: err}
	}
	r := record(v)
	if r.Data == nil {
		r.Data = element
	}
	return r
}

// pick returns the object with those fields alone that names spells exactly:
// encoding/json would also take "ID" for "id". A named field that occurs twice
// has no right value, since parsers disagree on which counts.
func pick(element []byte, names []string) ([]byte, error) {
	out := make([]byte, 0, 256)
	seen := make([]bool, len(names))
	err := rawjson.Fields(element, func(key, value []byte) error {
		for i, name := range names {
			if !rawjson.KeyIs(key, name) {
				continue
			}
			if seen[i] {
				return Reject("duplicate_key", "the field %q occurs twice", name)
			}
			seen[i] = true
			if len(out) > 0 {
				out = append(out, ',')
			} else {
				out = append(out, '{')
			}
			out = append(append(append(out, key...), ':'), value...)
		}
		return nil
	})
	if err != nil {
		var reject *RejectError
		if !errors.As(err, &reject) {
			err = &RejectError{"unexpected_type", err}
		}
		return nil, err
	}
	if len(out) == 0 {
		return []byte("{}"), nil
	}
	return append(out, '}'), nil
}

func tags[T any]() []string {
	t := reflect.TypeFor[T]()
	var names []string
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}
