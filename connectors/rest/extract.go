package rest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/rawjson"
)

// An extraction is how a stream's elements become records.
type extraction struct {
	id      []*expression
	mark    *expression // nil: there is none
	clock   clock
	deleted *expression // nil: never
	keep    *expression // nil: always

	names []string // the fields that these use
	all   bool     // every field is used
}

// done notes what fields are to be read, once all expressions are set.
func (x *extraction) done() {
	for _, e := range append(slices.Clone(x.id), x.mark, x.deleted, x.keep) {
		if e == nil {
			continue
		}
		x.all = x.all || e.all
		for _, n := range e.names {
			if !slices.Contains(x.names, n) {
				x.names = append(x.names, n)
			}
		}
	}
}

// A view is one element with the fields that an extraction reads.
type view struct {
	x      *extraction
	data   []byte
	fields [][]byte       // by x.names; nil is not there
	env    map[string]any // of decoded values; nil until it is needed
}

// record makes a record of an element; keep is false for one that is none.
func (x *extraction) record(e element) (r syncd.Record, keep bool) {
	r = syncd.Record{Data: e.data, Raw: e.raw, Err: e.err}
	if r.Err != nil {
		return r, true
	}
	v, err := x.view(e.data)
	if err == nil {
		keep, err = v.kept()
		if err == nil && !keep {
			return r, false
		}
	}
	if err == nil {
		err = v.fill(&r)
	}
	if err != nil {
		// What it was made of says less than what was made of it: a row alone does
		// not tell its columns.
		r.Err, r.Raw = asReject(err), nil
	}
	return r, true
}

func asReject(err error) error {
	if _, ok := errors.AsType[*syncd.RejectError](err); ok {
		return err
	}
	return &syncd.RejectError{Reason: "unexpected_type", Err: err}
}

// view reads an element's fields. One that is used and occurs twice has no
// right value, since parsers disagree on which counts.
func (x *extraction) view(data []byte) (*view, error) {
	v := &view{x: x, data: data, fields: make([][]byte, len(x.names))}
	err := rawjson.Fields(data, func(key, value []byte) error {
		for i, name := range x.names {
			if !rawjson.KeyIs(key, name) {
				continue
			}
			if v.fields[i] != nil {
				return syncd.Reject("duplicate_key", "the field %q occurs twice", name)
			}
			v.fields[i] = value
		}
		return nil
	})
	return v, err
}

// raw returns the bytes at an expression's place.
func (v *view) raw(e *expression) ([]byte, error) {
	value, err := lookup(v.fields[slices.Index(v.x.names, e.path[0])], e.path[1:])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.source, err)
	}
	return value, nil
}

// value evaluates an expression over the element's fields.
func (v *view) value(e *expression) (any, error) {
	if e.path != nil {
		raw, err := v.raw(e)
		if err != nil || raw == nil {
			return nil, err
		}
		return tree(raw)
	}
	if v.env == nil {
		if err := v.decode(); err != nil {
			return nil, err
		}
	}
	return e.on(v.env)
}

func (v *view) decode() error {
	if v.x.all {
		whole, err := tree(v.data)
		v.env, _ = whole.(map[string]any)
		return err
	}
	v.env = make(map[string]any, len(v.fields))
	for i, raw := range v.fields {
		if raw == nil {
			continue
		}
		value, err := tree(raw)
		if err != nil {
			return err
		}
		v.env[v.x.names[i]] = value
	}
	return nil
}

func (v *view) truth(e *expression) (bool, error) {
	value, err := v.value(e)
	if err != nil {
		return false, err
	}
	is, err := truth(value)
	if err != nil {
		return false, fmt.Errorf("%s: %w", clip(e.source), err)
	}
	return is, nil
}

func (v *view) kept() (bool, error) {
	if v.x.keep == nil {
		return true, nil
	}
	return v.truth(v.x.keep)
}

// fill sets what a record says beside its data.
func (v *view) fill(r *syncd.Record) (err error) {
	if r.ID, err = v.id(); err != nil {
		return err
	}
	if v.x.mark != nil {
		if r.Mark, err = v.mark(); err != nil {
			return err
		}
	}
	if v.x.deleted != nil {
		r.Deleted, err = v.truth(v.x.deleted)
	}
	return err
}

// escapeKey keeps the parts of an id of several apart: "/" joins them, so it is
// written %2F inside one, and "%" is written %25.
var escapeKey = strings.NewReplacer("%", "%25", "/", "%2F")

func (v *view) id() (string, error) {
	parts := make([]string, 0, 4)
	for _, e := range v.x.id {
		part, err := v.idOf(e)
		if err != nil {
			return "", err
		}
		if len(v.x.id) == 1 {
			return part, nil
		}
		if part == "" {
			return "", syncd.Reject("missing_external_id", "%s, which is part of the id, is empty", clip(e.source))
		}
		parts = append(parts, escapeKey.Replace(part))
	}
	return strings.Join(parts, "/"), nil
}

func (v *view) idOf(e *expression) (string, error) {
	if e.path != nil {
		raw, err := v.raw(e)
		if err != nil || raw == nil {
			return "", err
		}
		var id syncd.ID
		err = id.UnmarshalJSON(raw)
		return string(id), err
	}
	value, err := v.value(e)
	if err != nil {
		return "", err
	}
	id, err := text(value)
	if err != nil {
		return "", syncd.Reject("bad_external_id", "%s: %w", clip(e.source), err)
	}
	return id, nil
}

func (v *view) mark() (syncd.Mark, error) {
	if v.x.mark.path != nil {
		raw, err := v.raw(v.x.mark)
		if err != nil {
			return 0, err
		}
		return v.x.clock.mark(raw)
	}
	value, err := v.value(v.x.mark)
	if err != nil {
		return 0, err
	}
	s, err := text(value)
	if err != nil {
		return 0, syncd.Reject("bad_time", "%s: %w", clip(v.x.mark.source), err)
	}
	return v.x.clock.parse(s)
}
