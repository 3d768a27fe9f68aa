package rest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/syncdhq/syncd"
)

// An Account says how the API is asked whose account the credentials are of.
type Account struct {
	Path    string            `yaml:"path" doc:"below the base URL; a template"`
	Query   map[string]string `yaml:"query" doc:"parameters, as templates"`
	Headers map[string]string `yaml:"headers" doc:"headers of this request, as templates"`
	Body    string            `yaml:"body" doc:"a template of the body; with it, the request is sent by POST"`
	ID      string            `yaml:"id" doc:"an expression for the account's id, such as body.id: one that never changes, and no name"`
}

// An accountRequest is an Account that has been checked.
type accountRequest struct {
	list *list // how it is asked, as a list of one page is
	id   *expression
}

// compileAccount checks how the account is asked for; nil if it is not.
func (a *api) compileAccount(o Account) *accountRequest {
	if o.Path == "" && o.ID == "" && o.Query == nil && o.Headers == nil && o.Body == "" {
		return nil
	}
	known := []string{"params"}
	l := &list{name: "account", api: a, format: "json", rules: a.rules}
	l.path = a.template("account.path", o.Path, known)
	switch {
	case o.Path == "":
		a.fault("account", "it has no path: where the API tells whose account it is")
	case strings.Contains(o.Path, "://") || strings.HasPrefix(o.Path, "//"):
		a.fault("account.path", "it is below base_url, not a URL of its own")
	case strings.Contains(o.Path, "?"):
		a.fault("account.path", "parameters belong under query:")
	}
	l.query = a.settings("account.query", o.Query, known)
	l.headers = a.settings("account.headers", o.Headers, known)
	a.compileBody(l, "account", Stream{Body: o.Body}, known)
	if o.ID == "" {
		a.fault("account", "it has no id: where the answer has the account's, such as body.id")
		return nil
	}
	return &accountRequest{l, a.expression("account.id", o.ID, []string{"params", "body", "headers", "status"})}
}

// Identify implements syncd.Identifier.
func (o *Options) Identify(ctx context.Context, c *syncd.Client) (string, error) {
	a := compile(o)
	a.needParams()
	if len(a.faults) > 0 {
		return "", errors.Join(a.faults...)
	}
	if a.account == nil {
		return "", nil
	}
	l, env := a.account.list, map[string]any{"params": a.params}
	out, err := (&reader{list: l, client: c}).request(ctx, syncd.Request{}, env)
	if err != nil {
		return "", err
	}
	resp, err := c.Do(out)
	if refused, ok := errors.AsType[*syncd.HTTPError](err); ok {
		return "", l.refusal(refused, env)
	}
	if err != nil {
		return "", err
	}
	r := &reply{answer: answer{json: resp.Body}, response: resp, env: env}
	if err := judge(l.rules, resp.Status, r); err != nil {
		return "", err
	}
	id, err := r.text(a.account.id)
	if err == nil && id == "" {
		err = fmt.Errorf("the answer is not as expected: it has no %s", a.account.id.source)
	}
	return id, err
}
