package rest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"

	"github.com/syncdhq/syncd/internal/rawjson"
)

// An expression is one of the language of expr-lang
// (https://expr-lang.org/docs/language-definition). It always ends, has a
// budget of memory, and can't do I/O.
//
// The usual ones only name a place, such as user.id: those are looked up in the
// bytes, and never decode the rest.
type expression struct {
	source  string
	program *vm.Program
	path    []string // of an expression that only names a place; else nil
	names   []string // the variables that it uses
	all     bool     // it uses $env: every variable

	declared []string            // by its `let`
	members  map[string][]string // of variables, where they are named: params.repo
}

// banned are functions that would make two evaluations differ, or a number inexact.
var banned = []string{"now", "float", "mean", "median", "fromJSON", "abs", "ceil", "floor", "round", "sum", "date", "timezone", "duration", "keys", "values", "toPairs"}

// parseExpression checks an expression. known are the variables that there are; nil
// allows all names (a record's fields).
func parseExpression(source string, known []string) (*expression, error) {
	if strings.TrimSpace(source) == "" {
		return nil, errors.New("it is empty")
	}
	parsed, err := parser.Parse(source)
	if err != nil {
		return nil, plain(err)
	}
	e := &expression{source: source, path: place(parsed.Node)}
	if err := e.examine(parsed.Node); err != nil {
		return nil, err
	}
	if known != nil {
		if e.all {
			return nil, errors.New("$env can't be used here: name the variable")
		}
		for _, name := range e.names {
			if !slices.Contains(known, name) {
				return nil, fmt.Errorf("there is no %s here, only %s", name, strings.Join(known, ", "))
			}
		}
	}
	e.program, err = expr.Compile(source, expr.Env(map[string]any{}), expr.AllowUndefinedVariables(), expr.Patch(toFields{e.declared}))
	if err != nil {
		return nil, plain(err)
	}
	return e, nil
}

// plain takes the drawing out of an error and leaves the place.
func plain(err error) error {
	if e, ok := errors.AsType[*file.Error](err); ok {
		return fmt.Errorf("%s, at character %d", e.Message, e.Column+1)
	}
	return err
}

// toFields makes every variable a field of $env: a record may well have a field
// named as one of the language's functions is (type, count, date).
type toFields struct{ declared []string }

// Visit implements ast.Visitor.
func (f toFields) Visit(n *ast.Node) {
	if id, ok := (*n).(*ast.IdentifierNode); ok && id.Value != "$env" && !slices.Contains(f.declared, id.Value) {
		ast.Patch(n, &ast.MemberNode{Node: &ast.IdentifierNode{Value: "$env"}, Property: &ast.StringNode{Value: id.Value}})
	}
}

// place returns the steps of an expression that only names a place: a.b.c.
func place(n ast.Node) []string {
	switch n := n.(type) {
	case *ast.IdentifierNode:
		if n.Value != "$env" {
			return []string{n.Value}
		}
	case *ast.ChainNode:
		return place(n.Node)
	case *ast.MemberNode:
		name, ok := n.Property.(*ast.StringNode)
		if !ok {
			return nil
		}
		if id, ok := n.Node.(*ast.IdentifierNode); ok && id.Value == "$env" {
			return []string{name.Value}
		}
		if outer := place(n.Node); outer != nil {
			return append(outer, name.Value)
		}
	}
	return nil
}

// examine notes the variables of an expression, and refuses what it may not use.
func (e *expression) examine(n ast.Node) error {
	v := &inspection{members: map[string][]string{}}
	ast.Walk(&n, v)
	for _, name := range v.used {
		switch {
		case name == "$env":
			e.all = e.path == nil
		case slices.Contains(v.declared, name):
		case !slices.Contains(e.names, name):
			e.names = append(e.names, name)
		}
	}
	if e.path != nil {
		e.names = e.path[:1]
	}
	e.declared, e.members = v.declared, v.members
	return v.err
}

// An inspection collects what an expression uses.
type inspection struct {
	used     []string
	declared []string
	members  map[string][]string
	err      error
}

// Visit implements ast.Visitor.
func (v *inspection) Visit(n *ast.Node) {
	switch n := (*n).(type) {
	case *ast.IdentifierNode:
		v.used = append(v.used, n.Value)
	case *ast.MemberNode:
		id, isVariable := n.Node.(*ast.IdentifierNode)
		name, isNamed := n.Property.(*ast.StringNode)
		if isVariable && isNamed {
			v.members[id.Value] = append(v.members[id.Value], name.Value)
		}
	case *ast.VariableDeclaratorNode:
		v.declared = append(v.declared, n.Name)
	case *ast.CallNode:
		if id, ok := n.Callee.(*ast.IdentifierNode); ok {
			v.err = fmt.Errorf("there is no function %s", id.Value)
		}
	case *ast.BuiltinNode:
		if slices.Contains(banned, n.Name) {
			v.err = fmt.Errorf("the function %s is not to be had here: asked again, an answer must come to the same, to the digit", n.Name)
		}
	case *ast.BinaryNode:
		if n.Operator == "/" || n.Operator == "**" || n.Operator == "^" {
			v.err = fmt.Errorf("%s is not to be had here: it may come to a number with a fraction, which would not be exact", n.Operator)
		}
	case *ast.FloatNode:
		v.err = errors.New("numbers with a fraction are not to be had here: they would not be exact")
	}
}

// on evaluates the expression over variables.
func (e *expression) on(env map[string]any) (any, error) {
	v, err := expr.Run(e.program, env)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", clip(e.source), plain(err))
	}
	return v, nil
}

// texts evaluates an expression that comes to a list of texts.
func (e *expression) texts(env map[string]any) ([]string, error) {
	v, err := e.on(env)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case []string:
		return v, nil
	case []any:
		all := make([]string, len(v))
		for i, element := range v {
			if all[i], err = text(element); err != nil {
				return nil, fmt.Errorf("%s: %w", clip(e.source), err)
			}
		}
		return all, nil
	}
	return nil, fmt.Errorf("%s: it comes to %s, not to a list", clip(e.source), kindOf(v))
}

// lookup returns the bytes at a place in a JSON value; nil is for what is not there.
func lookup(value []byte, steps []string) ([]byte, error) {
	if len(value) == 0 {
		return nil, nil
	}
	return rawjson.Lookup(value, steps...)
}

func clip(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:60]) + "..."
	}
	return s
}
