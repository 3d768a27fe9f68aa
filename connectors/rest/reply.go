package rest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/syncdhq/syncd"
)

// A reply is an answer as the expressions over it see it.
type reply struct {
	answer
	request  syncd.Request
	response *syncd.Response
	last     []byte         // the last element that could be read
	env      map[string]any // the request's variables; those of the answer are added as they are needed
	decoded  map[string]bool
}

// raw returns the bytes at an expression's place where those are JSON of the
// answer; false where the place is elsewhere.
func (r *reply) raw(e *expression) (value []byte, ok bool, err error) {
	if e.path == nil {
		return nil, false, nil
	}
	switch e.path[0] {
	case "body":
		value, err = lookup(r.json, e.path[1:])
	case "last":
		value, err = lookup(r.last, e.path[1:])
	default:
		return nil, false, nil
	}
	if err != nil {
		err = fmt.Errorf("the answer is not as expected: %s: %w", e.source, err)
	}
	return value, true, err
}

// value evaluates an expression over the answer.
func (r *reply) value(e *expression) (any, error) {
	raw, ok, err := r.raw(e)
	if err != nil {
		return nil, err
	}
	if ok {
		if raw == nil {
			return nil, nil
		}
		return tree(raw)
	}
	if err := r.decode(e.names); err != nil {
		return nil, err
	}
	return e.on(r.env)
}

// decode makes the variables of the answer that are used.
func (r *reply) decode(names []string) error {
	for _, name := range names {
		if r.decoded[name] {
			continue
		}
		var value any
		var err error
		switch name {
		case "body":
			if r.json != nil {
				value, err = tree(r.json)
			}
		case "last":
			if r.last != nil {
				value, err = tree(r.last)
			}
		case "count":
			value = len(r.elements)
		case "status":
			value = r.response.Status
		case "headers":
			value = headers(r.response)
		default:
			continue
		}
		if err != nil {
			return fmt.Errorf("the answer is not as expected: %w", err)
		}
		if r.decoded == nil {
			r.decoded = map[string]bool{}
		}
		r.env[name], r.decoded[name] = value, true
	}
	return nil
}

// headers are an answer's, by their names in lower case.
func headers(resp *syncd.Response) map[string]any {
	all := make(map[string]any, len(resp.Header))
	for name, values := range resp.Header {
		all[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	return all
}

func (r *reply) truth(e *expression) (bool, error) {
	v, err := r.value(e)
	if err != nil {
		return false, err
	}
	is, err := truth(v)
	if err != nil {
		return false, fmt.Errorf("the answer is not as expected: %s: %w", clip(e.source), err)
	}
	return is, nil
}

// text returns the text of an expression: of a place, as it is spelt there;
// "" for null, false and what is not there.
func (r *reply) text(e *expression) (string, error) {
	if raw, ok, err := r.raw(e); err != nil || ok {
		if err != nil || len(raw) == 0 {
			return "", err
		}
		if raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9' {
			return string(raw), nil
		}
	}
	v, err := r.value(e)
	if err != nil || v == false {
		return "", err
	}
	s, err := text(v)
	if err != nil {
		return "", fmt.Errorf("the answer is not as expected: %s: %w", clip(e.source), err)
	}
	return s, nil
}

// A rule says what an answer means.
type rule struct {
	status  int
	when    *expression // nil: always
	as      string
	message *expression // nil: there is none
}

// meanings are what a rule can make of an answer.
var meanings = []string{"fail", "resync", "throttled", "not_modified"}

func (a *api) compileRules(at string, rules []ErrorRule) []rule {
	known := []string{"body", "headers", "status"}
	var out []rule
	for i, o := range rules {
		at := fmt.Sprintf("%s[%d]", at, i)
		r := rule{status: o.Status, as: o.As}
		if r.as == "" {
			r.as = "fail"
		}
		if !slices.Contains(meanings, r.as) {
			a.fault(at+".as", "%q is none of %s", clip(o.As), strings.Join(meanings, ", "))
		}
		if o.Status != 0 && (o.Status < 200 || o.Status > 599 || o.Status == 304) {
			a.fault(at+".status", "%d is no status of an answer that a rule could be for", o.Status)
		}
		if o.Status == 0 && o.When == "" {
			a.fault(at, "it is for every good answer: give it a status or a condition (when)")
		}
		if o.When != "" {
			r.when = a.expression(at+".when", o.When, known)
		}
		if o.Message != "" {
			r.message = a.expression(at+".message", o.Message, known)
		}
		out = append(out, r)
	}
	return out
}

// fits reports whether a rule is for an answer.
func (u rule) fits(status int, r *reply) (bool, error) {
	if u.status != status && (u.status != 0 || status/100 != 2) {
		return false, nil
	}
	if u.when == nil {
		return true, nil
	}
	return r.truth(u.when)
}

// match returns the first rule that fits an answer, nil if none does.
func match(rules []rule, status int, r *reply) (*rule, error) {
	for i := range rules {
		fits, err := rules[i].fits(status, r)
		if err != nil {
			return nil, err
		}
		if fits {
			return &rules[i], nil
		}
	}
	return nil, nil
}

// judge returns the error that an answer means by the rules, nil if none fits.
func judge(rules []rule, status int, r *reply) error {
	u, err := match(rules, status, r)
	if u == nil {
		return err
	}
	return u.meaning(r)
}

// meaning is the error of a rule that fits.
func (u rule) meaning(r *reply) error {
	switch u.as {
	case "resync":
		return syncd.ErrResync
	case "not_modified":
		return syncd.ErrNotModified
	}
	return u.failure(r)
}

// failure is what the provider says where it is an error.
func (u rule) failure(r *reply) error {
	said := ""
	if u.message != nil {
		var err error
		if said, err = r.text(u.message); err != nil {
			said = err.Error()
		}
	}
	if said != "" {
		return fmt.Errorf("the provider says: %s", said)
	}
	if u.when != nil {
		return fmt.Errorf("the answer is an error: %s", clip(u.when.source))
	}
	return errors.New("the answer is an error by the rule for its status")
}
