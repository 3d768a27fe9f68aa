package connectortest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/syncdhq/syncd/internal/rawjson"
)

// A field is one field of an object as it stands in its text.
type field struct{ key, value string }

func fieldsOf(text string) []field {
	var out []field
	err := rawjson.Fields([]byte(text), func(key, value []byte) error {
		out = append(out, field{string(key), string(value)})
		return nil
	})
	if err != nil {
		return nil
	}
	return out
}

func object(fields []field) string {
	texts := make([]string, len(fields))
	for i, f := range fields {
		texts[i] = f.key + ":" + f.value
	}
	return "{" + strings.Join(texts, ",") + "}"
}

// with returns an object with another value in one field.
func with(fields []field, i int, value string) string {
	out := slices.Clone(fields)
	out[i].value = value
	return object(out)
}

// differ returns the numbers of the fields that an item and another one differ in.
func differ(fields []field, other string) []int {
	theirs := fieldsOf(other)
	var out []int
	for i, f := range fields {
		if i < len(theirs) && theirs[i].key == f.key && theirs[i].value != f.value {
			out = append(out, i)
		}
	}
	return out
}

// idField returns the number of the field that holds the id, -1 if none does.
func idField(it Item, fields []field, render func(Item) string) int {
	other := it
	other.ID += "7"
	changed := differ(fields, render(other))
	for _, i := range changed {
		if v := fields[i].value; v == it.ID || v == `"`+it.ID+`"` {
			return i
		}
	}
	if len(changed) > 0 {
		return changed[0]
	}
	return -1
}

// timeFields returns the numbers of the fields that hold times.
func timeFields(it Item, fields []field, render func(Item) string) []int {
	other := it
	other.Created, other.Changed = it.Created.Add(100*time.Hour), it.Changed.Add(100*time.Hour)
	return differ(fields, render(other))
}

// poisons returns what an item's element can be spoilt to.
func poisons(it Item, render func(Item) string) []string {
	fields := fieldsOf(render(it))
	out := []string{"null", fmt.Sprintf(`[%d]`, it.N), fmt.Sprintf(`"%d"`, it.N), fmt.Sprint(it.N), fmt.Sprintf(`{"x":%d}`, it.N)}
	if i := idField(it, fields, render); i >= 0 {
		for _, bad := range []string{"null", "{}", "1.5", `""`, "[]", "true"} {
			out = append(out, with(fields, i, bad))
		}
	}
	for _, i := range timeFields(it, fields, render) {
		out = append(out, with(fields, i, `"yesterday"`), with(fields, i, "{}"))
	}
	return out
}

// poisoned spoils the elements at the edges of pages.
func poisoned(p *play) {
	p.populateAll()
	for round := range 4 {
		kind := round * 4
		p.world.infect = func(n int, page []Item, render func(Item) string) {
			it := page[len(page)-1]
			if n%2 == 0 {
				it = page[0]
			}
			if len(page) < 3 || n > 8 || p.world.first(it) {
				return
			}
			p.world.mu.Lock()
			defer p.world.mu.Unlock()
			if _, ok := p.world.poisoned[it.key()]; ok || p.neighbours(page) {
				return
			}
			kinds := poisons(it, render)
			p.world.poisoned[it.key()] = kinds[kind%len(kinds)]
			kind++
		}
		p.bad()
	}
	p.settle()
}

// neighbours reports whether most of a page is spoilt already.
func (p *play) neighbours(page []Item) bool {
	n := 0
	for _, it := range page {
		if _, ok := p.world.poisoned[it.key()]; ok {
			n++
		}
	}
	return n >= len(page)-2
}

// nulls makes one field of an element null, each in its turn.
func nulls(p *play) {
	p.populateAll()
	next := 0
	for range 4 {
		p.world.infect = func(_ int, page []Item, render func(Item) string) {
			for i := 1; i+1 < len(page); i++ {
				it := page[i]
				fields := fieldsOf(render(it))
				p.world.mu.Lock()
				_, ok := p.world.poisoned[it.key()]
				if !ok && len(fields) > 0 && p.world.lists[list{it.Stream, it.Part}][0].N != it.N {
					p.world.poisoned[it.key()] = with(fields, next%len(fields), "null")
					next++
				}
				p.world.mu.Unlock()
			}
		}
		p.bad()
	}
	p.settle()
}

// bad runs over lists with bad elements, checks that each of them was accounted
// for and all others arrived, and has the provider mend them.
func (p *play) bad() {
	p.well(how{})
	p.world.infect = nil
	p.compare(false)
	p.accounted()
	mended := slices.SortedFunc(maps.Keys(p.world.poisoned), func(a, b itemKey) int {
		return cmp.Or(strings.Compare(a.stream, b.stream), strings.Compare(a.part, b.part), strings.Compare(a.id, b.id))
	})
	p.calm()
	for _, k := range mended {
		if p.editable(k.stream) {
			p.tick()
			p.world.edit(k)
		}
	}
	p.well(how{full: !p.edits})
	p.compare(!p.edits)
	p.churn()
}

// accounted checks that each bad element was set aside or taken.
func (p *play) accounted() {
	have := map[string]bool{}
	for _, r := range p.setAside() {
		have[string(r.Raw)] = true
	}
	var data []string
	for _, r := range p.store.Records(owner) {
		have[string(r.Data)] = true
		data = append(data, string(r.Data))
	}
	for text, k := range p.world.bad {
		if p.append(k.stream) && p.world.shown[k].rev > 0 {
			continue // it is stored, and the first copy stays
		}
		if p.world.poisoned[k] != text || have[text] || slices.ContainsFunc(data, func(d string) bool { return strings.Contains(text, d) && len(d) > 8 }) {
			continue
		}
		p.fail("whether Fetch leaves out elements that it cannot decode: each is to be a Record with Err, as syncd.Decode makes it",
			"the element %s is neither a record nor set aside: it vanished", clip([]byte(text)))
	}
	if len(p.faults) > 0 {
		panic(stop{})
	}
}

// duplicates lists elements twice.
func duplicates(p *play) {
	p.populateAll()
	for range 2 {
		last := map[list]string{}
		p.world.mix = func(page []Item, texts []string) []string {
			if len(texts) == 0 {
				return texts
			}
			at := list{page[0].Stream, page[0].Part}
			out := []string{texts[0]}
			if before := last[at]; before != "" && before != texts[0] {
				out = []string{before, texts[0]}
			}
			out = append(out, texts...)
			last[at] = texts[len(texts)-1]
			return append(out, last[at])
		}
		p.well(how{})
		p.compare(false)
		p.settle()
		p.churn()
	}
	p.settle()
}

// disorder turns round the elements of a page but for its last one.
func disorder(p *play) {
	p.populateAll()
	for range 2 {
		p.world.mix = func(_ []Item, texts []string) []string {
			if len(texts) > 2 {
				slices.Reverse(texts[:len(texts)-1])
			}
			return texts
		}
		p.well(how{})
		p.compare(false)
		p.settle()
		p.churn()
	}
	p.settle()
}

// empties hides all items of a page.
func empties(p *play) {
	p.populateAll()
	for range 2 {
		p.world.infect = func(n int, page []Item, _ func(Item) string) {
			p.world.mu.Lock()
			defer p.world.mu.Unlock()
			if n != 2 && n != 3 {
				return
			}
			for _, it := range page {
				if p.world.shown[it.key()].rev == 0 {
					p.world.hidden[it.key()] = true
				}
			}
		}
		p.well(how{})
		p.compare(false)
		for range 2*p.size + 1 {
			p.tick()
			for _, at := range p.lists() {
				p.world.create(at)
			}
		}
	}
	p.settle()
}
