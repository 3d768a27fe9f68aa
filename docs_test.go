package syncd_test

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	pageLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	fence    = regexp.MustCompile("(?ms)^```.*?^```")
)

// Links between the pages lead somewhere.
func TestLinksLeadSomewhere(t *testing.T) {
	pages, err := filepath.Glob("docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	for _, page := range append(pages, "README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range pageLink.FindAllStringSubmatch(fence.ReplaceAllString(string(text), ""), -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			file := page
			if target != "" {
				file = filepath.Join(filepath.Dir(page), target)
			}
			linked, err := os.ReadFile(file)
			if err != nil {
				if info, statErr := os.Stat(file); statErr == nil && info.IsDir() {
					continue
				}
				t.Errorf("%s: the link %s leads nowhere", page, m[1])
				continue
			}
			if anchor != "" && !hasHeading(string(linked), anchor) {
				t.Errorf("%s: the link %s leads to no heading", page, m[1])
			}
		}
	}
}

// What the audit says is shown by a test is shown by one that there is.
func TestWhatShowsItIsThere(t *testing.T) {
	text, err := os.ReadFile("docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	_, files := sources(t)
	for _, f := range files {
		for _, d := range f.file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && f.test {
				there[fn.Name.Name] = true
			}
		}
	}
	named := regexp.MustCompile(`\b(?:Test|Fuzz)[A-Z]\w*`).FindAllString(string(text), -1)
	if len(named) < 20 {
		t.Errorf("%d tests are named: they are not found", len(named))
	}
	for _, name := range named {
		if !there[name] {
			t.Errorf("docs/security.md names %s, and there is no such test", name)
		}
	}
}

// hasHeading reports whether a page has the heading of an anchor.
func hasHeading(text, anchor string) bool {
	for line := range strings.Lines(fence.ReplaceAllString(text, "")) {
		heading, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " ")
		if !ok || !strings.HasPrefix(line, "#") {
			continue
		}
		name := regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), "")
		if strings.ReplaceAll(name, " ", "-") == anchor {
			return true
		}
	}
	return false
}
