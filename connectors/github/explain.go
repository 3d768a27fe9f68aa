package github

import (
	"errors"
	"fmt"

	"github.com/syncdhq/syncd"
)

// explain names the repository in an error, and what to check.
func (r *repositories) explain(part string, err error) error {
	r.mu.Lock()
	name := r.names[part]
	r.mu.Unlock()
	if name == "" {
		name = "with id " + part
	}
	return explain(name, err)
}

func explain(name string, err error) error {
	var refused *syncd.HTTPError
	if errors.As(err, &refused) {
		if h := hint(refused.Status); h != "" {
			return fmt.Errorf("repository %s: %w (%s)", name, err, h)
		}
	}
	return fmt.Errorf("repository %s: %w", name, err)
}

// hint says what an answer means for a repository, and "" for an answer that
// is not about one. GitHub answers 404 also for what a token may not see
// (https://docs.github.com/en/rest/using-the-rest-api/troubleshooting-the-rest-api).
func hint(status int) string {
	switch status {
	case 403:
		return "the token may not read this: it needs read access to metadata, issues and pull requests of the repository, and the organization's approval where that is asked for"
	case 404:
		return "it is gone, or the token does not see it: check the name and the token's access to the repository"
	case 410:
		return "issues are turned off in this repository, or it is gone: turn them on, or leave this stream out of the option streams"
	case 451:
		return "it is blocked for legal reasons"
	}
	return ""
}

// isLost reports whether an error is about one repository, and not about the
// token or the provider as a whole.
func isLost(err error) bool {
	var refused *syncd.HTTPError
	return errors.As(err, &refused) && hint(refused.Status) != ""
}
