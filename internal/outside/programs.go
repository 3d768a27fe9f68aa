package outside

import (
	"context"
	"fmt"
	"sync"
	"testing"
)

// A program is a server that is built once.
type program struct {
	name    string
	version string
	pkg     string // its main package
	binary  string // what go install calls the result; of other installations, a file that is there when all is

	// fill makes the program, and what it needs beside it, in a folder. It is
	// nil for go install.
	fill   func(ctx context.Context, p *program, folder string) error
	beside []string // folders of its module that it reads when it runs

	once sync.Once
	path string
	err  error
}

// The versions, all of them. Raising one builds it anew beside the old.
var (
	pocketbase = &program{name: "pocketbase", version: "v0.36.8", pkg: "github.com/pocketbase/pocketbase/examples/base", binary: "base"}
	miniflux   = &program{name: "miniflux", version: "v2.3.5", pkg: "miniflux.app/v2", binary: "miniflux.app"}
	stripemock = &program{name: "stripe-mock", version: "v0.203.0", pkg: "github.com/stripe/stripe-mock", binary: "stripe-mock"}
	gofakes3   = &program{name: "gofakes3", version: "v1.2.0", pkg: "github.com/johannesboyne/gofakes3/cmd/gofakes3", binary: "gofakes3"}
	gitea      = &program{name: "gitea", version: "v1.27.3", pkg: "code.gitea.io/gitea", binary: "gitea", fill: buildCopy, beside: []string{"templates", "options", "public"}}
	oauth2mock = &program{name: "oauth2-mock-server", version: "9.3.0", binary: "package.json", fill: npmInstall}

	programs = []*program{pocketbase, miniflux, stripemock, gofakes3, gitea, oauth2mock}
)

// executable returns the path of the program, which it builds if nobody has.
// The error of one that cannot be built is [errNotHere]; it is tried once a process.
func (p *program) executable() (string, error) {
	p.once.Do(func() {
		if p.path, p.err = p.build(); p.err != nil {
			p.err = fmt.Errorf("build %s %s (%w): %w", p.name, p.version, errNotHere, p.err)
		}
	})
	return p.path, p.err
}

// need is executable for a test, which ends where there is none.
func (p *program) need(tb testing.TB) string {
	tb.Helper()
	path, err := p.executable()
	if err != nil {
		giveUp(tb, err)
	}
	return path
}
