package syncd_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The rules of the house that a compiler does not check. They are read off the
// sources alone, so they hold for files of every build constraint and need no network.

const module = "github.com/syncdhq/syncd"

// kit is the folder of the root package.
const kit = "."

// A row says what the files of a folder, tests aside, may import beside the
// standard library. A module stands for all its packages.
type row struct {
	ours   []string // folders of this module
	theirs []string // modules of others
}

var anything = []string{"*"}

// rawjson is plain functions over bytes: whoever has a use for it may import it.
const rawjson = "internal/rawjson"

// house is the table of the folders. In a name, * stands for one element.
var house = map[string]row{
	kit:               {ours: []string{rawjson, "internal/origin"}},
	rawjson:           {},
	"internal/origin": {},
	"connectors":      {ours: []string{kit, "connectors/*", "providers"}},
	"providers":       {ours: []string{kit}},
	"connectors/*":    {ours: []string{kit}, theirs: []string{"golang.org/x/text"}}, // a parser at most
	"connectors/rest": {ours: []string{kit, rawjson}, theirs: []string{"github.com/expr-lang/expr", "github.com/clbanning/mxj/v2"}},
	"connectortest":   {ours: []string{kit, rawjson, "internal/cursor", "internal/ingest", "internal/recording", "internal/run", "internal/store", "internal/store/memory", "internal/transport", "internal/vault"}},

	"internal/cursor":    {ours: []string{kit, rawjson}},
	"internal/ingest":    {ours: []string{kit, rawjson, "internal/cursor", "internal/store"}},
	"internal/run":       {ours: []string{kit, rawjson, "internal/cursor", "internal/ingest", "internal/store"}, theirs: []string{"github.com/google/uuid"}},
	"internal/schedule":  {theirs: []string{"github.com/robfig/cron/v3"}},
	"internal/scheduler": {ours: []string{"internal/schedule", "internal/store"}, theirs: []string{"github.com/google/uuid"}}, // knows no connector

	"internal/outfile":   {},
	"internal/recording": {ours: []string{kit, "internal/origin", "internal/outfile"}},

	"internal/store":           {ours: []string{kit, rawjson, "internal/cursor"}},
	"internal/store/limits":    {ours: []string{rawjson, "internal/store"}}, // what every store refuses
	"internal/store/memory":    {ours: []string{kit, rawjson, "internal/cursor", "internal/store", "internal/store/limits"}, theirs: []string{"github.com/google/uuid"}},
	"internal/store/postgres":  {ours: []string{kit, rawjson, "internal/cursor", "internal/store", "internal/store/limits", "migrations"}, theirs: []string{"github.com/jackc/pgx/v5", "github.com/google/uuid"}},
	"internal/store/sqlite":    {ours: []string{kit, rawjson, "internal/cursor", "internal/store", "internal/store/limits", "migrations"}, theirs: []string{"modernc.org/sqlite", "github.com/google/uuid"}},
	"internal/store/storetest": {ours: []string{kit, rawjson, "internal/cursor", "internal/store"}, theirs: []string{"github.com/google/go-cmp", "pgregory.net/rapid", "github.com/google/uuid"}},

	"internal/transport": {ours: []string{kit, "internal/origin", "internal/vault"}, theirs: []string{"golang.org/x/time", "golang.org/x/oauth2", "golang.org/x/text", "github.com/cenkalti/backoff/v5"}},
	"internal/vault":     {},
	"internal/connect":   {ours: []string{"internal/store", "internal/vault"}},
	"internal/account":   {ours: []string{"internal/oauth", "internal/store", "internal/vault"}},
	"internal/oauth":     {ours: []string{"internal/vault"}, theirs: []string{"golang.org/x/oauth2"}},
	"internal/outbox":    {ours: []string{rawjson, "internal/store"}},
	"internal/config":    {ours: []string{kit, "internal/schedule", "internal/vault"}, theirs: []string{"gopkg.in/yaml.v3", "github.com/fsnotify/fsnotify"}},
	"internal/web":       {ours: []string{kit, rawjson, "internal/connect", "internal/cursor", "internal/run", "internal/schedule", "internal/scheduler", "internal/store", "internal/vault"}, theirs: []string{"github.com/santhosh-tekuri/jsonschema/v6", "golang.org/x/text"}},

	"migrations":          {ours: []string{"migrations/*"}},
	"migrations/postgres": {},
	"migrations/sqlite":   {},

	"cli":       {ours: anything, theirs: anything},
	"cmd/syncd": {ours: []string{"cli", "connectors"}},

	"internal/bench":          {}, // benchmarks only
	"internal/casebook":       {},
	"internal/outside":        {theirs: []string{"github.com/chromedp/chromedp"}}, // servers of others, for tests
	"internal/pgtest":         {theirs: []string{"github.com/jackc/pgx/v5"}},
	"internal/pgtest/pgserve": {ours: []string{"internal/pgtest"}},
}

// reserved are the modules that few folders may import, even where the table
// allows anything. Tests may: to look into a store's tables, for one.
var reserved = map[string][]string{
	"github.com/jackc/pgx/v5":   {"internal/store/postgres", "internal/pgtest"},
	"modernc.org/sqlite":        {"internal/store/sqlite"},
	"gopkg.in/yaml.v3":          {"internal/config"},
	"github.com/robfig/cron/v3": {"internal/schedule"},

	"github.com/chromedp/chromedp": {"internal/outside"},
}

// testsOnly are the folders that no file but a test imports, their own files aside.
var testsOnly = []string{"internal/casebook", "internal/outside", "internal/pgtest"}

// A source is one parsed file of the module.
type source struct {
	folder string // slash-separated; "." for the root
	name   string // with its folder
	test   bool   // its name ends in _test.go
	file   *ast.File
}

// sources parses every Go file of the module.
func sources(t *testing.T) (*token.FileSet, []source) {
	t.Helper()
	fset := token.NewFileSet()
	var all []source
	for _, name := range files(t) {
		if !strings.HasSuffix(name, ".go") {
			continue
		}
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)
			continue
		}
		all = append(all, source{
			folder: path.Dir(name),
			name:   name,
			test:   strings.HasSuffix(name, "_test.go"),
			file:   file,
		})
	}
	return fset, all
}

// files lists the module's files, slash-separated. Recorded data, other
// modules and what tools left are none of them.
func files(t *testing.T) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if !entry.IsDir() {
			if entry.Type().IsRegular() {
				all = append(all, name)
			}
			return nil
		}
		base := path.Base(name)
		if name == kit || name == ".ci" {
			return nil
		}
		if base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
			return fs.SkipDir
		}
		if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// match reports whether the folder is one of the names, in which * stands for
// one element; alone it stands for everything.
func match(names []string, folder string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		ok, err := path.Match(name, folder)
		return name == "*" || ok && err == nil
	})
}

// rowOf returns the row of a folder. An exact name wins over a pattern.
func rowOf(folder string) (row, bool) {
	if r, ok := house[folder]; ok {
		return r, true
	}
	for name, r := range house {
		if match([]string{name}, folder) {
			return r, true
		}
	}
	return row{}, false
}

// within reports whether the package is one of the module or folder.
func within(pkg, parent string) bool {
	return pkg == parent || strings.HasPrefix(pkg, parent+"/")
}

// ourFolder returns the folder of a package of this module.
func ourFolder(pkg string) (string, bool) {
	if pkg == module {
		return kit, true
	}
	return strings.CutPrefix(pkg, module+"/")
}

// standard reports whether the package is the standard library's: the first
// element of all other import paths is the name of a host.
func standard(pkg string) bool {
	first, _, _ := strings.Cut(pkg, "/")
	return !strings.Contains(first, ".")
}

// wrongImport says what is wrong when a file of the folder imports pkg; "" if nothing is.
func wrongImport(folder string, test bool, pkg string) string {
	if test || standard(pkg) {
		return ""
	}
	for lib, folders := range reserved {
		if within(pkg, lib) && !slices.ContainsFunc(folders, func(f string) bool { return within(folder, f) }) {
			return "only " + strings.Join(folders, ", ") + " may"
		}
	}
	r, ok := rowOf(folder)
	if !ok {
		return "" // TestFoldersAreInTheTable reports the folder
	}
	ours, isOurs := ourFolder(pkg)
	for _, helper := range testsOnly {
		if isOurs && within(ours, helper) && !within(folder, helper) {
			return "only tests may"
		}
	}
	switch {
	case isOurs && !match(r.ours, ours):
		return fmt.Sprintf("of this module it may import %q", r.ours)
	case !isOurs && !slices.ContainsFunc(r.theirs, func(lib string) bool { return lib == "*" || within(pkg, lib) }):
		return fmt.Sprintf("of other modules it may import %q", r.theirs)
	}
	return ""
}

func TestFoldersAreInTheTable(t *testing.T) {
	_, all := sources(t)
	folders := map[string]bool{}
	for _, s := range all {
		folders[s.folder] = true
	}
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		if _, ok := rowOf(folder); !ok {
			t.Errorf("%s has no row in the table of house_test.go: add one that says what it may import, and describe the folder in the design document", folder)
		}
	}
}

func TestImportsKeepTheTable(t *testing.T) {
	fset, all := sources(t)
	for _, s := range all {
		for _, spec := range s.file.Imports {
			pkg, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Errorf("%s: %v", fset.Position(spec.Pos()), err)
				continue
			}
			if wrong := wrongImport(s.folder, s.test, pkg); wrong != "" {
				t.Errorf("%s: %s must not import %s: %s", fset.Position(spec.Pos()), s.folder, pkg, wrong)
			}
		}
	}
}

func TestNoInit(t *testing.T) {
	fset, all := sources(t)
	for _, s := range all {
		for _, decl := range s.file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s: func init: let main call it, or make it a value", fset.Position(f.Pos()))
			}
		}
	}
}

// Numbers of providers are ids, marks and hashes: none survives a float.
func TestNoFloats(t *testing.T) {
	fset, all := sources(t)
	for _, s := range all {
		if s.test || !slices.Contains([]string{kit, "internal/cursor", "internal/ingest"}, s.folder) {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && slices.Contains([]string{"float64", "float32", "ParseFloat"}, id.Name) {
				t.Errorf("%s: %s: numbers from JSON are int64 or text", fset.Position(id.Pos()), id.Name)
			}
			return true
		})
	}
}

// A sleep is deaf to its context.
func TestNoSleeps(t *testing.T) {
	fset, all := sources(t)
	for _, s := range all {
		if s.test {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok || sel.Sel.Name != "Sleep" {
				return true
			}
			if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "time" {
				t.Errorf("%s: time.Sleep: select on a timer and the context", fset.Position(sel.Pos()))
			}
			return true
		})
	}
}

// An error says what was attempted; that it failed goes without saying.
func TestErrorsSayWhatWasAttempted(t *testing.T) {
	fset, all := sources(t)
	for _, s := range all {
		if s.test {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if ok && lit.Kind == token.STRING && strings.Contains(strings.ToLower(lit.Value), "failed to") {
				t.Errorf("%s: %s: say what was attempted, and with what", fset.Position(lit.Pos()), lit.Value)
			}
			return true
		})
	}
}

// homes are the folders that people have on machines of their own. The one
// exception is the same everywhere: Homebrew's place on Linux.
var homes = regexp.MustCompile(`(?:/home|/Users|[A-Z]:\\Users)[/\\][A-Za-z0-9._-]+|/root/[A-Za-z0-9._-]+`)

const homebrew = "/home/linuxbrew"

func TestNoPathsOfOneMachine(t *testing.T) {
	checkout, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	kinds := []string{"", ".go", ".md", ".mod", ".sh", ".sql", ".yaml", ".yml", ".html", ".txt", ".txtar"}
	for _, name := range files(t) {
		if !slices.Contains(kinds, path.Ext(name)) || name == "house_test.go" {
			continue
		}
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(content), "\n") {
			for _, found := range homes.FindAllString(line, -1) {
				if found != homebrew {
					t.Errorf("%s:%d: %s is on one machine only", name, i+1, found)
				}
			}
			// A short one, such as /src, is in other paths too.
			if strings.Count(checkout, "/") > 1 && strings.Contains(line, checkout+"/") {
				t.Errorf("%s:%d: names the folder of this checkout", name, i+1)
			}
		}
	}
}

func TestWrongImport(t *testing.T) {
	for _, test := range []struct {
		folder string
		test   bool
		pkg    string
		wrong  bool
	}{
		{kit, false, "net/http", false},
		{kit, false, module + "/internal/rawjson", false},
		{kit, false, module + "/internal/store", true},
		{kit, false, "golang.org/x/text", true},
		{"connectors/csv", false, "golang.org/x/text/encoding", false},
		{"connectors/csv", false, module, false},
		{"connectors/csv", false, module + "/internal/rawjson", true},
		{"connectors/csv", false, module + "/connectors/rest", true},
		{"connectors", false, module + "/connectors/csv", false},
		{"cli", false, module + "/internal/store/postgres", false},
		{"cli", false, "github.com/spf13/cobra", false},
		{"cli", false, "github.com/jackc/pgx/v5/pgxpool", true},
		{"cli", false, "gopkg.in/yaml.v3", true},
		{"cli", true, "github.com/jackc/pgx/v5", false},
		{"cli", false, module + "/internal/pgtest", true},
		{"internal/store/postgres", false, "github.com/jackc/pgx/v5/pgxpool", false},
		{"internal/store/postgres", true, module + "/internal/pgtest", false},
		{"internal/store/postgres", false, module + "/internal/ingest", true},
		{"internal/store/sqlite", false, "github.com/jackc/pgx/v5", true},
		{"internal/cursor", true, "pgregory.net/rapid", false},
		{"internal/cursor", false, "pgregory.net/rapid", true},
		{"internal/scheduler", false, module + "/connectors", true},
		{"internal/scheduler", false, "github.com/robfig/cron/v3", true},
		{"internal/pgtest/pgserve", false, module + "/internal/pgtest", false},
	} {
		got := wrongImport(test.folder, test.test, test.pkg)
		if (got != "") != test.wrong {
			t.Errorf("%s (test %v) imports %s: got %q, want wrong = %v", test.folder, test.test, test.pkg, got, test.wrong)
		}
	}
}
