package cli

import (
	"errors"
	"fmt"
	gotoken "go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/syncdhq/syncd/connectors/example"
)

func (a *app) connectorsNew() *cobra.Command {
	var inGo bool
	var dir, module string
	c := &cobra.Command{
		Use:   "new NAME",
		Short: "Write a connector to start from",
		Long: `Write a connector to start from: a provider file, which needs no program, or
with --go a program with a connector in Go and its test. Both are commented,
complete, and read an imaginary help desk: put your provider in its place.

No file is overwritten.`,
		Example: `  syncd connectors new tickets                 writes tickets.yaml
  syncd connectors new tickets --go            writes the folder tickets
  syncd connectors new tickets --go --module example.com/acme/tickets`,
		Args: takes("NAME"),
		RunE: func(_ *cobra.Command, args []string) error {
			name := args[0]
			if err := a.checkNew(name); err != nil {
				return usageError{err}
			}
			if inGo {
				module = or(module, "example.com/"+name)
				if err := checkGo(name, module); err != nil {
					return usageError{err}
				}
				return a.newGo(name, dir, module)
			}
			if module != "" {
				return usageError{errors.New("--module is for --go, which is missing")}
			}
			return a.newYAML(name, dir)
		},
	}
	c.Flags().BoolVar(&inGo, "go", false, "a connector in Go and its test, in a module of its own")
	c.Flags().StringVar(&dir, "dir", ".", "the `folder` to write to")
	c.Flags().StringVar(&module, "module", "", "the Go module's `path`; example.com/NAME without it")
	return c
}

// checkNew refuses a name that no connector can have, or one has.
func (a *app) checkNew(name string) error {
	if name == "" || len(name) > 64 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") != "" || name[0] < 'a' {
		return fmt.Errorf("the name %q is not of lower case letters, digits, _ and -, with a letter first", name)
	}
	if slices.Contains(a.connectorNames(), name) {
		return fmt.Errorf("this program has a connector %s already: choose another name (syncd connectors show %s)", name, name)
	}
	return nil
}

// taken are the names that a package beside main.go cannot have.
var taken = []string{"append", "cli", "connectors", "init", "main", "slices", "testdata", "vendor"}

// modulePath is of what a module may be called (https://go.dev/ref/mod#go-mod-file-ident).
var modulePath = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._~-]*(/[A-Za-z0-9._~-]+)*$`)

// checkGo refuses what Go would.
func checkGo(name, module string) error {
	if pkg := packageName(name); gotoken.IsKeyword(pkg) || slices.Contains(taken, pkg) {
		return fmt.Errorf("a package in Go cannot be called %s here: choose another name", pkg)
	}
	if !modulePath.MatchString(module) {
		return fmt.Errorf("--module %q is no path of a module in Go", module)
	}
	return nil
}

// A scaffold is the files to write, by their names.
type scaffold struct {
	dir   string
	names []string
	texts []string
}

func (s *scaffold) add(name, text string) {
	s.names = append(s.names, name)
	s.texts = append(s.texts, text)
}

// write writes all files, or none where one is there already.
func (s *scaffold) write() error {
	for _, name := range s.names {
		path := filepath.Join(s.dir, name)
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			if err == nil {
				err = errors.New("it is there already")
			}
			return fmt.Errorf("write %s: %w", path, err)
		}
	}
	for i, name := range s.names {
		path := filepath.Join(s.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err != nil {
			return err
		}
		_, err = f.WriteString(s.texts[i])
		if err := errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
	}
	return nil
}

// exampleFile returns a file of the example connector under another name.
func exampleFile(file, name string) (string, error) {
	text, err := example.Source.ReadFile(file)
	if err != nil {
		return "", err
	}
	pkg := packageName(name)
	return strings.NewReplacer(
		"package example", "package "+pkg,
		"Package example", "Package "+pkg,
		`"example"`, `"`+name+`"`,
		"example.yaml", name+".yaml",
		"# example:", "# "+name+":",
		" It is a\n// connector to start from: `syncd connectors new NAME --go` writes a copy.", "",
	).Replace(string(text)), nil
}

// packageName is a connector's name as Go writes packages.
func packageName(name string) string {
	return strings.NewReplacer("-", "", "_", "").Replace(name)
}

func (a *app) newYAML(name, dir string) error {
	text, err := exampleFile("example.yaml", name)
	if err != nil {
		return err
	}
	s := scaffold{dir: dir}
	s.add(name+".yaml", text)
	if err := s.write(); err != nil {
		return err
	}
	path := filepath.Join(dir, name+".yaml")
	connector := filepath.ToSlash(path)
	if !filepath.IsAbs(path) {
		connector = "./" + connector
	}
	fmt.Fprintf(a.Out, `wrote %[1]s

Next:
  1. Put your provider's API in place of the help desk's.
  2. Try it:  syncd connectors try %[1]s --credential token='${TOKEN}'
  3. Use it in the configuration:  connector: %[2]s
`, path, connector)
	return nil
}

const mainText = `// Command %[1]s is syncd with one connector more.
package main

import (
	"slices"

	"github.com/syncdhq/syncd/cli"
	"github.com/syncdhq/syncd/connectors"

	"%[2]s/%[3]s"
)

func main() {
	cli.Main(append(slices.Clone(connectors.All), %[3]s.Connector()))
}
`

func (a *app) newGo(name, dir, module string) error {
	pkg := packageName(name)
	connector, err := exampleFile("example.go", name)
	if err != nil {
		return err
	}
	test, err := exampleFile("example_test.go", name)
	if err != nil {
		return err
	}
	s := scaffold{dir: filepath.Join(dir, name)}
	s.add("go.mod", fmt.Sprintf("module %s\n\ngo 1.26.0\n", module))
	s.add("main.go", fmt.Sprintf(mainText, name, module, pkg))
	s.add(filepath.Join(pkg, pkg+".go"), connector)
	s.add(filepath.Join(pkg, pkg+"_test.go"), test)
	if err := s.write(); err != nil {
		return err
	}
	fmt.Fprintf(a.Out, `wrote %[1]s: a program, and the connector in %[2]s with its test

Next:
  1. cd %[1]s && go mod tidy && go test ./...
  2. Put your provider in place of the help desk, in the connector and in its fake.
  3. Run it as you would run syncd:  go run . connectors show %[3]s
`, s.dir, filepath.Join(s.dir, pkg), name)
	return nil
}
