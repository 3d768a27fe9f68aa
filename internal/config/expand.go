package config

import (
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"
)

// expand replaces ${NAME} by the variable's value, once: what a value holds is
// not expanded again. $${ stands for ${ itself, and any other $ for itself.
// The problems name variables and never show a value.
func expand(text string, env func(string) (string, bool)) (value string, problems []problem) {
	var b strings.Builder
	for {
		i := strings.Index(text, "${")
		if i < 0 {
			b.WriteString(text)
			return b.String(), problems
		}
		if i > 0 && text[i-1] == '$' {
			b.WriteString(text[:i-1])
			b.WriteString("${")
			text = text[i+2:]
			continue
		}
		b.WriteString(text[:i])
		text = text[i+2:]
		name, rest, closed := strings.Cut(text, "}")
		switch {
		case !closed:
			return "", append(problems, problem{"${ lacks its }", "write ${NAME} for a variable, or $${ for the two characters themselves"})
		case !isVariable(name):
			problems = append(problems, problem{"${...} does not hold the name of a variable", "write ${NAME}, where a name has letters, digits and _ (there are no default values), or $${ for the two characters themselves"})
		default:
			if v, ok := env(name); ok {
				b.WriteString(v)
			} else {
				problems = append(problems, problem{fmt.Sprintf("the environment variable %s is not set", name), "set it, or write $${ for the two characters themselves"})
			}
		}
		text = rest
	}
}

func isVariable(name string) bool {
	for i, r := range name {
		switch {
		case r == '_' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z':
		case i > 0 && r >= '0' && r <= '9':
		default:
			return false
		}
	}
	return name != ""
}

// hasVariable reports whether a scalar's value comes from the environment, in
// whole or in part: then it is never shown.
func hasVariable(n *yaml.Node) bool {
	n = resolve(n)
	return n.Kind == yaml.ScalarNode && strings.Contains(strings.ReplaceAll(n.Value, "$${", ""), "${")
}

// A problem is what is wrong, and what to do instead.
type problem struct{ message, hint string }

func (p problem) Error() string { return p.message }
