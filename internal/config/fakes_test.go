package config

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/syncdhq/syncd"
)

// The connectors of the tests are named as real ones and take their options,
// but read nothing.
func fakes() []syncd.Connector {
	return []syncd.Connector{
		{
			Name: "github", BaseURL: "https://api.github.com", Auth: syncd.Auth{Scheme: syncd.Bearer},
			Options: func() syncd.Options { return &githubOptions{State: "all", PageSize: 100} },
		},
		{Name: "csv", Options: func() syncd.Options { return &csvOptions{Delimiter: ","} }},
		{Name: "sample", Options: func() syncd.Options { return &sampleOptions{} }, Auth: syncd.Auth{Scheme: syncd.Basic, Optional: true}},
		{
			Name: "calendar", BaseURL: "https://cal.test", Options: func() syncd.Options { return &sampleOptions{} },
			Auth: syncd.Auth{Scheme: syncd.OAuth2, OAuth: &syncd.OAuth{AuthURL: "https://cal.test/auth", TokenURL: "https://cal.test/token"}},
		},
		{Name: "broken", Options: func() syncd.Options { return &brokenOptions{} }},
	}
}

type githubOptions struct {
	Repo     string        `doc:"OWNER/NAME"`
	State    string        `doc:"open, closed or all"`
	PageSize int           `yaml:"page_size"`
	Since    time.Time     `yaml:"since"`
	Lookback time.Duration `yaml:"lookback"`
	Enabled  bool
	Country  string
	Labels   map[string]string
	Filter   struct{ Author, Branch string }
	Columns  []struct{ Name string }
}

func (o *githubOptions) Streams(c *syncd.Client) ([]syncd.Stream, error) {
	if c == nil {
		return nil, errors.New("no client")
	}
	switch {
	case o.Repo == "":
		return nil, syncd.BadOption("repo", "name a repository, such as robfig/cron")
	case o.PageSize > 100:
		return nil, syncd.BadOption("page_size", "%d is more than 100", o.PageSize)
	case o.Filter.Branch == "none":
		return nil, syncd.BadOption("filter.branch", "there is no branch %q", o.Filter.Branch)
	case len(o.Columns) > 1 && o.Columns[1].Name == "":
		return nil, syncd.BadOption("columns[1].name", "is empty")
	case o.State != "all" && o.State != "open":
		return nil, errors.New("state " + o.State + " is not possible in " + o.Repo)
	}
	return []syncd.Stream{{Name: "issues", Fetch: noFetch}, {Name: "pull_requests", Fetch: noFetch}}, nil
}

type csvOptions struct {
	Path      string
	Key       []string
	Delimiter string
}

func (o *csvOptions) ResolvePaths(dir string) {
	if o.Path != "" && !filepath.IsAbs(o.Path) {
		o.Path = filepath.Join(dir, o.Path)
	}
}

func (o *csvOptions) Streams(*syncd.Client) ([]syncd.Stream, error) {
	if !filepath.IsAbs(o.Path) {
		return nil, syncd.BadOption("path", "name a file")
	}
	return []syncd.Stream{{Name: "rows", Fetch: noFetch}}, nil
}

type sampleOptions struct{ Count int }

func (o *sampleOptions) Streams(*syncd.Client) ([]syncd.Stream, error) {
	return []syncd.Stream{{Name: "things", Fetch: noFetch}}, nil
}

// brokenOptions are of a connector that is at fault in the way it is told to be.
type brokenOptions struct{ How string }

func (o *brokenOptions) Streams(*syncd.Client) ([]syncd.Stream, error) {
	switch o.How {
	case "panic":
		panic("index out of range")
	case "none":
		return nil, nil
	case "name":
		return []syncd.Stream{{Name: "Issues", Fetch: noFetch}}, nil
	case "twice":
		return []syncd.Stream{{Name: "a", Fetch: noFetch}, {Name: "a", Fetch: noFetch}}, nil
	}
	return []syncd.Stream{{Name: "a"}}, nil
}

func noFetch(context.Context, syncd.Request) (syncd.Page, error) {
	return syncd.Page{}, errors.New("the configuration's tests fetch nothing")
}

// environment looks up variables in a map.
func environment(m map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := m[name]
		return v, ok
	}
}

// write writes a file of a test's.
func write(tb testing.TB, path, text string) {
	tb.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
}
