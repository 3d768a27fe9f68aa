package rest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/rawjson"
)

// escapePart names a part: by the id, in which a slash would not be allowed.
var escapePart = strings.NewReplacer("%", "%25", "/", "%2F")

// maxPart is how long the name of a part may be, in bytes.
const maxPart = 256

func unescapePart(part string) string {
	id, err := url.PathUnescape(part)
	if err != nil {
		return part
	}
	return id
}

// parts implements syncd.Stream.Parts: those of the options, or the ids of the
// parent's records. A parent that is gone, or was set aside in its own stream,
// has no part.
func (r *reader) parts(ctx context.Context) ([]string, error) {
	if r.list.parent == nil {
		return r.list.parts, nil
	}
	parent := &reader{list: r.list.parent, client: r.client}
	var parts []string
	parents := map[string]map[string]any{}
	seen := map[string]bool{}
	for req := (syncd.Request{}); ; {
		page, err := parent.fetch(ctx, req)
		if errors.Is(err, syncd.ErrNotModified) && req.Page == "" {
			break // there is no such list, by a rule of its own
		}
		if err != nil {
			return nil, fmt.Errorf("for each of %s: %w", r.list.parent.name, err)
		}
		before := len(parts)
		for _, record := range page.Records {
			if record.Err != nil || record.Deleted || record.ID == "" {
				continue
			}
			part := escapePart.Replace(record.ID)
			if parents[part] != nil || len(part) > maxPart { // that is set aside in its own stream, too
				continue
			}
			if parents[part], err = some(record.Data, r.list.wanted); err != nil {
				return nil, fmt.Errorf("for each of %s: %s: %w", r.list.parent.name, clip(record.ID), err)
			}
			parts = append(parts, part)
		}
		if page.Next == "" {
			break
		}
		if req.Page != "" && len(page.Records) > 0 && len(parts) == before && repeats(page, parents) {
			return nil, fmt.Errorf("for each of %s: the page %q has nothing but what came before: does the provider heed the page?", r.list.parent.name, clip(req.Page))
		}
		if seen[page.Next] {
			return nil, fmt.Errorf("for each of %s: the page %q came for the second time", r.list.parent.name, clip(page.Next))
		}
		seen[page.Next] = true
		req.Page = page.Next
	}
	r.mu.Lock()
	r.parents = parents
	r.mu.Unlock()
	return parts, nil
}

// repeats reports whether all of a page's records have been listed before.
func repeats(page syncd.Page, parents map[string]map[string]any) bool {
	for _, record := range page.Records {
		if parents[escapePart.Replace(record.ID)] == nil {
			return false
		}
	}
	return true
}

// some returns the fields of an object that are named.
func some(object []byte, names []string) (map[string]any, error) {
	out := make(map[string]any, len(names))
	for _, name := range names {
		raw, err := rawjson.Lookup(object, name)
		if err != nil || raw == nil {
			if err != nil {
				return nil, err
			}
			continue
		}
		if out[name], err = tree(raw); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// parentOf returns the fields of a part's parent.
func (r *reader) parentOf(ctx context.Context, part string) (map[string]any, error) {
	if len(r.list.wanted) == 0 {
		return nil, nil
	}
	r.mu.Lock()
	parent, ok := r.parents[part]
	r.mu.Unlock()
	if ok {
		return parent, nil
	}
	if _, err := r.parts(ctx); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if parent, ok = r.parents[part]; !ok {
		return nil, fmt.Errorf("%s %s is no longer listed", r.list.parent.name, clip(unescapePart(part)))
	}
	return parent, nil
}
