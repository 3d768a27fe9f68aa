package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"

	"github.com/syncdhq/syncd"
)

// apiVersion is the version of the API that the rules in this package are of
// (https://docs.github.com/en/rest/about-the-rest-api/api-versions).
const apiVersion = "2022-11-28"

// repositories are those that a source reads.
type repositories struct {
	client *syncd.Client
	chosen []string // as owner/name; none means all that the token sees

	mu    sync.Mutex
	names map[string]string // the names by part, for messages
	lost  map[string]error  // the parts that stand for names without a repository
}

type repository struct {
	ID   syncd.ID `json:"id"`
	Name string   `json:"full_name"`
}

// parts returns the ids of the repositories.
//
// A name that leads nowhere must not keep the other repositories from being
// read: it becomes a part of its own, owner:name, whose Fetch fails.
func (r *repositories) parts(ctx context.Context) ([]string, error) {
	if len(r.chosen) == 0 {
		return r.seen(ctx)
	}
	var parts []string
	var errs []error
	for _, name := range r.chosen {
		id, err := r.resolve(ctx, name)
		switch {
		case err == nil:
			parts = append(parts, id)
		case isLost(err):
			part := strings.Replace(name, "/", ":", 1)
			r.remember(part, name, err)
			parts, errs = append(parts, part), append(errs, err)
		default:
			return nil, err
		}
	}
	if len(errs) == len(r.chosen) {
		return nil, errors.Join(errs...)
	}
	return parts, nil
}

// resolve asks for a repository by name. Under an old name GitHub answers with
// a redirect to the id.
// https://docs.github.com/en/rest/repos/repos#get-a-repository
func (r *repositories) resolve(ctx context.Context, name string) (string, error) {
	resp, err := r.get(ctx, "/repos/"+name, nil)
	if err != nil {
		return "", explain(name, err)
	}
	var repo repository
	if err := syncd.DecodeBody(resp.Body, &repo); err != nil {
		return "", fmt.Errorf("repository %s: %w", name, err)
	}
	return r.add(repo)
}

// seen lists the repositories that the token sees. They come in the order of
// their creation, so that one created meanwhile does not move the others.
// https://docs.github.com/en/rest/repos/repos#list-repositories-for-the-authenticated-user
func (r *repositories) seen(ctx context.Context) ([]string, error) {
	var parts []string
	ref := "/user/repos"
	query := url.Values{"per_page": {"100"}, "sort": {"created"}, "direction": {"asc"}}
	asked := map[string]bool{}
	for ref != "" {
		if asked[ref] {
			return nil, fmt.Errorf("list the token's repositories: the page %s comes round again", ref)
		}
		asked[ref] = true
		resp, err := r.get(ctx, ref, query)
		if err != nil {
			return nil, fmt.Errorf("list the token's repositories: %w (name them under repo or repos to read public ones without a token, or with the token of an app's installation)", err)
		}
		var repos []repository
		if err := syncd.DecodeBody(resp.Body, &repos); err != nil {
			return nil, fmt.Errorf("list the token's repositories: %w", err)
		}
		for _, repo := range repos {
			id, err := r.add(repo)
			if err != nil {
				return nil, err
			}
			parts = append(parts, id)
		}
		if ref, err = resp.NextLink(); err != nil {
			return nil, fmt.Errorf("list the token's repositories: %w", err)
		}
		query = nil
	}
	if len(parts) == 0 {
		return nil, errors.New("the token sees no repository: a fine-grained token must be given repositories " +
			"(with read access to issues and pull requests), a classic one the scope repo or public_repo; " +
			"or name public repositories under repo or repos")
	}
	return parts, nil
}

var digits = regexp.MustCompile(`^[1-9][0-9]*$`)

// add remembers a repository and returns its part.
func (r *repositories) add(repo repository) (string, error) {
	part := string(repo.ID)
	if !digits.MatchString(part) {
		return "", fmt.Errorf("repository %s: its id %q is not a number", repo.Name, part)
	}
	r.remember(part, repo.Name, nil)
	return part, nil
}

func (r *repositories) remember(part, name string, lost error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.names == nil {
		r.names, r.lost = map[string]string{}, map[string]error{}
	}
	r.names[part], r.lost[part] = name, lost
}

// list asks for a page of one of a repository's lists.
func (r *repositories) list(ctx context.Context, part, path string, query url.Values) (*syncd.Response, error) {
	r.mu.Lock()
	lost := r.lost[part]
	r.mu.Unlock()
	if lost != nil {
		return nil, lost
	}
	resp, err := r.get(ctx, "/repositories/"+part+path, query)
	if err == nil {
		return resp, nil
	}
	// A repository without issues that nobody chose by name (forks are born
	// so) is no reason to fail: its cursor stays where it is.
	var refused *syncd.HTTPError
	if len(r.chosen) == 0 && errors.As(err, &refused) && refused.Status == http.StatusGone && query.Get("page") == "" {
		return nil, syncd.ErrNotModified
	}
	return nil, r.explain(part, err)
}

func (r *repositories) get(ctx context.Context, ref string, query url.Values) (*syncd.Response, error) {
	req, err := r.client.NewRequest(ctx, ref, query, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/vnd.github+json")
	req.Header.Set("X-GitHub-Api-Version", apiVersion)
	return r.client.Do(req)
}

// names returns the chosen repositories, checked.
func (o *Options) names() ([]string, error) {
	option, names := "repos", o.Repos
	if o.Repo != "" {
		if len(names) > 0 {
			return nil, syncd.BadOption("repo", "give repo or repos, not both")
		}
		option, names = "repo", []string{o.Repo}
	}
	for _, name := range names {
		owner, repo, _ := strings.Cut(name, "/")
		if !nameParts.MatchString(owner) || !nameParts.MatchString(repo) || strings.Trim(repo, ".") == "" || strings.Trim(owner, ".") == "" {
			return nil, syncd.BadOption(option, "%q is not a repository as owner/name, such as robfig/cron", name)
		}
	}
	return names, nil
}

var nameParts = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)
