package rest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/syncdhq/syncd"
)

// A paging is how a list goes on. A page token of the engine is, by kind: the
// page's number, the offset, the provider's token, or the URL of the next page.
type paging struct {
	by        string // "", page, offset, cursor, link or url
	param     string
	size      int
	sizeParam string
	first     int
	next      *expression
	more      *expression
}

// answerVariables are what expressions over an answer may use.
var answerVariables = []string{"body", "headers", "status", "last", "count", "page", "size", "params", "part", "parent"}

// answerVariables are those of the list's answers: lines and tables have no body
// that is one value.
func (l *list) answerVariables() []string {
	if l.format == "csv" || l.format == "ndjson" {
		return slices.DeleteFunc(slices.Clone(answerVariables), func(name string) bool { return name == "body" })
	}
	return answerVariables
}

func (a *api) compilePaging(l *list, at string, o Stream) {
	p := o.Paging
	at += ".paging"
	l.paging = paging{by: p.By, param: p.Param, size: p.Size, sizeParam: p.SizeParam, first: 1}
	if p.By == "offset" {
		l.paging.first = 0
	}
	if p.First != nil {
		l.paging.first = *p.First
	}
	if p.Next != "" {
		l.paging.next = a.expression(at+".next", p.Next, l.answerVariables())
	}
	if p.More != "" {
		l.paging.more = a.expression(at+".more", p.More, l.answerVariables())
	}
	if p.SizeParam != "" && p.Size <= 0 {
		a.fault(at+".size_param", "it needs size: how many records to ask for")
	}
	if p.Size > 0 && p.SizeParam == "" && !l.uses("size") {
		a.fault(at+".size", "it is sent nowhere: name a size_param, or use {{ size }} in query or body")
	}
	for _, param := range []string{p.Param, p.SizeParam} {
		if param != "" && o.Query[param] != "" {
			a.fault(at, "the parameter %s is under query: already", param)
		}
	}
	a.checkPaging(l, at, p)
}

// checkPaging refuses what a kind of paging has no use for, or lacks.
func (a *api) checkPaging(l *list, at string, p Paging) {
	numbered, named := p.By == "page" || p.By == "offset", p.By == "cursor"
	switch p.By {
	case "", "none":
		l.paging.by = ""
		if p.Param != "" || p.Next != "" || p.More != "" || p.First != nil {
			a.fault(at, "it has no by: page, offset, cursor, link or url")
		}
		return
	case "page", "offset", "cursor", "link", "url":
	default:
		a.fault(at+".by", "%q is none of none, page, offset, cursor, link, url", clip(p.By))
		return
	}
	if (numbered || named) && p.Param == "" && !l.uses("page") {
		a.fault(at, "the page is sent nowhere: name a param, or use {{ page }} in query or body")
	}
	if (named || p.By == "url") && p.Next == "" {
		a.fault(at, "by: %s needs next: where the answer says how to go on, such as body.next or last.id", p.By)
	}
	if (numbered || p.By == "link") && p.Next != "" {
		a.fault(at+".next", "by: %s has no use for it; more: is the condition for there being more", p.By)
	}
	if p.First != nil && !numbered {
		a.fault(at+".first", "it is for by: page and by: offset")
	}
	if (p.By == "link" || p.By == "url") && p.Param != "" {
		a.fault(at+".param", "the next page's URL is taken as it is: by: %s has no use for a param", p.By)
	}
}

// following reports whether a page token is a URL.
func (p paging) following() bool { return p.by == "link" || p.by == "url" }

// value returns what the request for a page says: a number, a text, or nil on
// the first page of a list with tokens.
func (p paging) value(token string) (any, error) {
	switch p.by {
	case "page", "offset":
		if token == "" {
			return p.first, nil
		}
		n, err := strconv.Atoi(token)
		if err != nil {
			return nil, fmt.Errorf("page token %q is not a number", clip(token))
		}
		return n, nil
	}
	if token == "" {
		return nil, nil
	}
	return token, nil
}

// after returns the token of the page after an answer, "" at the list's end.
func (p paging) after(r *reply) (string, error) {
	if p.more != nil {
		more, err := r.truth(p.more)
		if err != nil || !more {
			return "", err
		}
	}
	switch p.by {
	case "page":
		return p.count(r, 1)
	case "offset":
		return p.count(r, len(r.elements))
	case "link":
		next, err := r.response.NextLink()
		if next == "" && err == nil && p.more != nil {
			err = errors.New("the answer is not as expected: more is to come, but there is no link to it")
		}
		return next, err
	case "cursor", "url":
	default:
		return "", nil
	}
	byLast := slices.Contains(p.next.names, "last")
	token := ""
	if r.last != nil || !byLast {
		var err error
		if token, err = r.text(p.next); err != nil {
			return "", err
		}
	}
	switch {
	case token == "" && byLast && (p.more != nil || len(r.elements) > 0):
		return "", errors.New("the answer is not as expected: more is to come, but there is no record to go on from")
	case token == "" && p.more != nil:
		return "", fmt.Errorf("the answer is not as expected: more is to come, but %s says not how to go on", clip(p.next.source))
	case p.by == "cursor":
		return token, nil
	}
	return r.response.NextURL(token)
}

// count goes on by a number. Where there is a condition for more it has been
// met; else the first empty page is the end: a page that is shorter than was asked for may only be the most
// that the provider gives.
func (p paging) count(r *reply, step int) (string, error) {
	switch {
	case len(r.elements) > 0 || p.more != nil && step > 0:
	case p.more != nil:
		return "", errors.New("the answer is not as expected: more is to come, but the page is empty and says not how to go on")
	default:
		return "", nil
	}
	n, err := p.value(r.request.Page)
	if err != nil {
		return "", err
	}
	return strconv.Itoa(n.(int) + step), nil
}

var _ syncd.Describer = (*Options)(nil)
