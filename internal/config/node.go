package config

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// resolve follows an alias to what it stands for.
func resolve(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// kind names what a node is, for errors. It never shows the value.
func kind(n *yaml.Node) string {
	n = resolve(n)
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	if isNull(n) {
		return "nothing"
	}
	return "a single value"
}

// isNull reports whether a node has no value: nothing, ~ or null, without quotes.
func isNull(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Tag == "!!null"
}

// isQuoted reports whether a scalar is written so that it can only be text.
func isQuoted(n *yaml.Node) bool {
	return n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0
}

// An entry is a key of a mapping with its value.
type entry struct{ key, value *yaml.Node }

// entries returns a mapping's entries, those that << merges after its own.
// What is wrong with the keys is reported.
func (d *decoder) entries(n *yaml.Node) []entry {
	var merges []*yaml.Node
	out := make([]entry, 0, len(n.Content)/2)
	seen := newKeys(len(n.Content) / 2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Tag == "!!merge" {
			merges = append(merges, value)
			continue
		}
		name := resolve(key)
		if name.Kind != yaml.ScalarNode || isNull(name) {
			d.add(key, "a key must be a text, not "+kind(key), "")
			continue
		}
		if first := seen.put(name.Value, key); first != nil {
			line, _ := d.position(first)
			d.add(key, fmt.Sprintf("the key %q is given twice", name.Value), fmt.Sprintf("it is also in line %d", line))
			continue
		}
		out = append(out, entry{key, value})
	}
	if merges == nil {
		return out
	}
	m := merger{decoder: d, seen: seen, done: map[*yaml.Node]bool{n: true}, out: out}
	for _, value := range merges {
		m.merge(value)
	}
	return m.out
}

// A merger adds what << names. A mapping that was merged once has nothing
// more to give, so each is visited once, however often aliases repeat it.
type merger struct {
	*decoder
	seen *keys
	done map[*yaml.Node]bool
	out  []entry
}

func (m *merger) merge(value *yaml.Node) {
	n := resolve(value)
	switch n.Kind {
	case yaml.SequenceNode:
		for _, element := range n.Content {
			if resolve(element).Kind != yaml.MappingNode {
				m.add(element, "<< merges mappings, not "+kind(element), "")
				continue
			}
			m.mapping(resolve(element))
		}
	case yaml.MappingNode:
		m.mapping(n)
	default:
		m.add(value, "<< merges a mapping, not "+kind(n), "")
	}
}

func (m *merger) mapping(n *yaml.Node) {
	if m.done[n] {
		return
	}
	m.done[n] = true
	var merges []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		name := resolve(key)
		switch {
		case key.Tag == "!!merge":
			merges = append(merges, value)
		case name.Kind == yaml.ScalarNode && !isNull(name) && m.seen.put(name.Value, key) == nil:
			m.out = append(m.out, entry{key, value})
		}
	}
	for _, value := range merges {
		m.merge(value)
	}
}

// keys remembers the keys of one mapping: few in a slice, many in a map.
type keys struct {
	few  []*yaml.Node
	many map[string]*yaml.Node
}

func newKeys(n int) *keys {
	k := &keys{}
	if n > 16 {
		k.many = make(map[string]*yaml.Node, n)
	}
	return k
}

// put remembers the key, or returns the one that it repeats.
func (k *keys) put(name string, key *yaml.Node) *yaml.Node {
	if k.many != nil {
		if first := k.many[name]; first != nil {
			return first
		}
		k.many[name] = key
		return nil
	}
	for _, first := range k.few {
		if resolve(first).Value == name {
			return first
		}
	}
	if k.few = append(k.few, key); len(k.few) > 16 {
		k.many = make(map[string]*yaml.Node, 2*len(k.few))
		for _, key := range k.few {
			k.many[resolve(key).Value] = key
		}
	}
	return nil
}

// cycles reports the aliases that stand for something they are part of.
func (d *document) cycles(root *yaml.Node) bool {
	const open, closed = 1, 2
	state := map[*yaml.Node]int{}
	found := false
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		if n.Kind == yaml.AliasNode {
			if state[n.Alias] == open {
				d.add(n, fmt.Sprintf("the alias *%s is part of what it stands for", n.Value), "")
				found = true
				return
			}
			n = n.Alias
		}
		if n.Kind == yaml.ScalarNode {
			return
		}
		// Without an anchor a node is met once and needs no mark.
		if n.Anchor != "" {
			if state[n] == closed {
				return
			}
			state[n] = open
			defer func() { state[n] = closed }()
		}
		for _, child := range n.Content {
			walk(child)
		}
	}
	walk(root)
	return found
}

// find returns the node of an option named as in an *OptionError: a key, or a
// path such as "filter.state" or "columns[2].name". It returns the deepest node
// there is, nil if not even the first step is there.
func find(n *yaml.Node, path string) (found *yaml.Node, depth int) {
	steps := strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune(".[]", r) })
	for _, step := range steps {
		if n == nil {
			return found, depth
		}
		if n = child(resolve(n), step); n != nil {
			found = n
			depth++
		}
	}
	return found, depth
}

func child(n *yaml.Node, step string) *yaml.Node {
	switch n.Kind {
	case yaml.MappingNode:
		d := &decoder{document: &document{}} // its errors have been reported
		for _, e := range d.entries(n) {
			if resolve(e.key).Value == step {
				return e.value
			}
		}
	case yaml.SequenceNode:
		i := slices.IndexFunc([]byte(step), func(b byte) bool { return b < '0' || b > '9' })
		if i < 0 && len(step) < 9 {
			index := 0
			for _, digit := range step {
				index = index*10 + int(digit-'0')
			}
			if index < len(n.Content) {
				return n.Content[index]
			}
		}
	}
	return nil
}
