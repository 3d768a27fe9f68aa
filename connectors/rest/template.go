package rest

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// A template is a text with expressions between {{ and }}.
type template struct {
	source   string
	literals []string      // one more than there are expressions
	holes    []*expression // between them
}

// parseTemplate checks a template, whose expressions may use the known variables.
func parseTemplate(source string, known []string) (*template, error) {
	t := &template{source: source}
	rest := source
	for {
		before, after, ok := strings.Cut(rest, "{{")
		if !ok {
			break
		}
		inner, behind, ok := strings.Cut(after, "}}")
		if !ok {
			return nil, fmt.Errorf("{{%s has no }}", clip(after))
		}
		e, err := parseExpression(inner, known)
		if err != nil {
			return nil, fmt.Errorf("{{%s}}: %w", clip(inner), err)
		}
		t.literals = append(t.literals, before)
		t.holes = append(t.holes, e)
		rest = behind
	}
	if strings.Contains(rest, "}}") {
		return nil, fmt.Errorf("}} without {{ before it in %q", clip(rest))
	}
	t.literals = append(t.literals, rest)
	return t, nil
}

// uses reports whether an expression of the template uses the variable.
func (t *template) uses(name string) bool {
	return slices.ContainsFunc(t.holes, func(e *expression) bool { return slices.Contains(e.names, name) })
}

// members returns the fields of a variable that the template names.
func (t *template) members(name string) []string {
	var all []string
	for _, e := range t.holes {
		all = append(all, e.members[name]...)
	}
	return all
}

// render fills the template; each value is passed through escape.
func (t *template) render(env map[string]any, escape func(string) (string, error)) (string, error) {
	if len(t.holes) == 0 {
		return t.literals[0], nil
	}
	var b strings.Builder
	for i, e := range t.holes {
		b.WriteString(t.literals[i])
		v, err := e.on(env)
		if err != nil {
			return "", err
		}
		s, err := text(v)
		if err == nil && escape != nil {
			s, err = escape(s)
		}
		if err != nil {
			return "", fmt.Errorf("{{%s}}: %w", clip(e.source), err)
		}
		b.WriteString(s)
	}
	b.WriteString(t.literals[len(t.holes)])
	return b.String(), nil
}

// inPath escapes a value for a URL's path. Slashes stay, since values such as
// owner/name hold them; a value may not lead out of the path or be nothing.
func inPath(value string) (string, error) {
	steps := strings.Split(value, "/")
	for i, s := range steps {
		if s == "" || s == "." || s == ".." {
			return "", errors.New("its value can't be part of a path: it is empty, or has a step that is empty or leads elsewhere")
		}
		steps[i] = url.PathEscape(s)
	}
	return strings.Join(steps, "/"), nil
}
