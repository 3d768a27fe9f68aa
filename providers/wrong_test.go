package providers_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/connectors/rest"
	"github.com/syncdhq/syncd/internal/config"
)

var onlyRest = []syncd.Connector{rest.Connector()}

// right is a provider file in which everything is in order.
const right = `summary: tickets of a help desk
base_url: https://desk.example.com/api
auth: { scheme: header, name: X-Api-Key }
user_rate: { requests: 100, per: 1m }
params: { team: "" }
errors:
  - { status: 410, as: resync }
streams:
  teams:
    path: /teams
    records: body.teams ?? []
  tickets:
    for_each: teams
    path: /teams/{{ parent.slug }}/tickets
    query: { state: all }
    records: body.data.tickets
    id: [number, part_no]
    mark: { field: updated, format: "2006-01-02 15:04:05", zone: Europe/Berlin }
    deleted: status == "spam"
    order: ascending
    since: { param: since, precision: 1s }
    paging: { by: page, param: page, size: 50, size_param: per_page }
`

func TestRight(t *testing.T) {
	if _, err := config.FromFile("desk.yaml", []byte(right), onlyRest, nil); err != nil {
		t.Fatal(err)
	}
}

// Each mistake is one change of the file that is right. What must be said names
// the place (of the first letter of what was written, or of what lacks it) and
// what to do.
func TestMistakes(t *testing.T) {
	for _, c := range []struct {
		name, from, to string // one change of the file
		at             string // a text of the changed file that the error must point to
		say            string
	}{
		{"a key that is misspelt", "    records: body.data.tickets", "    record: body.data.tickets", "record: body.data", `did you mean records?`},
		{"a key at the wrong level", "summary: tickets of a help desk", "path: /teams", "path: /teams", `no key "path"`},
		{"no streams", right[strings.Index(right, "streams:"):], "", "summary", "name at least one list"},
		{"a base URL without a scheme", "https://desk.example.com/api", "desk.example.com/api", "desk.example.com", "not http://HOST or https://HOST"},
		{"a password in the base URL", "https://desk", "https://me:secret@desk", "https://me", "belong under credentials"},
		{"an unknown way of signing", "scheme: header", "scheme: digest", "digest", "none of none, bearer, basic, header, query, oauth2"},
		{"a key without a header", "auth: { scheme: header, name: X-Api-Key }", "auth: { scheme: header }", "{ scheme", "needs a name"},
		{"a token in a header", "    query: { state: all }", "    headers: { Authorization: Bearer abc }", "Bearer abc", "belongs under auth: and credentials:"},
		{"a header that can't be one", "    query: { state: all }", "    headers: { X Bad: a }", "a }", "can't be the name of a header"},
		{"a header that is the transport's", "name: X-Api-Key", "name: Host", "Host", "can't be the header that carries a token"},
		{"the body of a table", "    query: { state: all }", "    format: ndjson", "body.data", "an answer in ndjson is one list"},
		{"a limit without a time", "{ requests: 100, per: 1m }", "{ requests: 100 }", "{ requests", "write it such as { requests: 100, per: 1m }"},
		{"a URL for a path", "path: /teams\n", "path: https://other.example/teams\n", "https://other", "below base_url"},
		{"parameters in the path", "path: /teams\n", "path: /teams?all=true\n", "/teams?all", "belong under query:"},
		{"a template that does not end", "{{ parent.slug }}", "{{ parent.slug", "/teams/{{", "has no }}"},
		{"an unknown variable", "{{ parent.slug }}", "{{ team.slug }}", "/teams/{{", "there is no team here, only params, since, page"},
		{"a param that is not declared", "{{ parent.slug }}", "{{ params.group }}", "/teams/{{", `declare it under params:, as group: ""`},
		{"an expression that is cut off", `deleted: status == "spam"`, "deleted: status ==", "status ==", "unexpected token EOF, at character"},
		{"an unknown function", `deleted: status == "spam"`, "deleted: isSpam(status)", "isSpam", "there is no function isSpam"},
		{"the clock", `deleted: status == "spam"`, "deleted: expires < now()", "expires <", "the function now is not to be had"},
		{"a list that is computed", "records: body.data.tickets", "records: filter(body.tickets, .open)", "filter(", "must be the list's place"},
		{"a list that is not of the body", "records: body.data.tickets", "records: data.tickets", "data.tickets", "there is no data here, only body"},
		{"an unknown format of marks", `format: "2006-01-02 15:04:05"`, "format: iso8601", "iso8601", "none of rfc3339, unix, unix_ms, integer, and no layout"},
		{"an unknown zone", "Europe/Berlin", "Middle/Earth", "Middle", "not a time zone such as Europe/Berlin"},
		{"an order without a mark", `    mark: { field: updated, format: "2006-01-02 15:04:05", zone: Europe/Berlin }` + "\n", "", "ascending", "needs mark"},
		{"ascending without since", "    since: { param: since, precision: 1s }\n", "", "ascending", "ascending needs since"},
		{"an unknown order", "order: ascending", "order: newest", "newest", "neither ascending nor descending"},
		{"a snapshot of a part", "order: ascending\n", "snapshot: true\n", "true", "take one of them out"},
		{"an unknown kind of paging", "by: page", "by: pages", "pages", "none of none, page, offset, cursor, link, url"},
		{"a page that is sent nowhere", "by: page, param: page,", "by: page,", "{ by: page", "name a param, or use {{ page }}"},
		{"a token from nowhere", "by: page, param: page,", "by: cursor, param: page,", "{ by: cursor", "needs next"},
		{"a parameter that is there twice", "query: { state: all }", "query: { page: \"1\" }", "{ by: page", "is under query: already"},
		{"a size that is sent nowhere", ", size_param: per_page", "", "50", "name a size_param"},
		{"a parent that is not there", "for_each: teams", "for_each: groups", "groups", `there is no stream "groups"`},
		{"a stream's own parent", "for_each: teams", "for_each: tickets", "tickets\n    path", "not its own parent"},
		{"a rule for everything", "{ status: 410, as: resync }", "{ as: fail }", "{ as", "give it a status or a condition"},
		{"an unknown meaning", "as: resync", "as: restart", "restart", "none of fail, resync, throttled, not_modified"},
		{"a name with capitals", "  teams:\n", "  Teams:\n", "\n    path: /teams\n", "lower case letters"},
		{"a body that is not JSON", "    query: { state: all }", "    body: '{\"page\": {{ page }}, }'", "'{\"page\"", "does not come to JSON"},
		{"a duration without a unit", "precision: 1s", "precision: 1", "1 }", "1 of what? write 1s"},
		{"an unknown format of answers", "    query: { state: all }", "    format: yaml", "yaml\n", "none of json, ndjson, csv, xml"},
		{"a key that is there twice", "    for_each: teams\n", "    for_each: teams\n    for_each: teams\n", "for_each: teams\n    path", "twice"},
		{"no YAML", "auth: {", "auth: {{", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(right, c.from, c.to, 1)
			if text == right {
				t.Fatal("nothing was changed")
			}
			_, err := config.FromFile("desk.yaml", []byte(text), onlyRest, nil)
			list, ok := errors.AsType[config.Errors](err)
			if !ok {
				t.Fatalf("got %v, want errors with their places", err)
			}
			if c.at == "" {
				return
			}
			line, column := placeOf(t, text, c.at)
			for _, e := range list {
				if e.Line == line && e.Column == column && strings.Contains(e.Error(), c.say) {
					return
				}
			}
			t.Errorf("got\n%v\nwant one at desk.yaml:%d:%d that says %q", err, line, column, c.say)
		})
	}
}

// placeOf returns the line and column of the first letter of a part of a text.
func placeOf(t *testing.T, text, part string) (line, column int) {
	t.Helper()
	i := strings.Index(text, part)
	if i < 0 {
		t.Fatalf("%q is not in the file", part)
	}
	i += len(part) - len(strings.TrimLeft(part, "\n "))
	before := text[:i]
	return strings.Count(before, "\n") + 1, i - strings.LastIndex(before, "\n")
}

// In a configuration, errors of a provider file have its name, and those of
// what is set over it the configuration's.
func TestPlacesInTwoFiles(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/desk.yaml", strings.Replace(right, "order: ascending", "order: newest", 1))
	cfg := `store: sqlite:x.db
providers:
  desk:
    connector: ./desk.yaml
    schedule: "@daily"
    options: { params: { team: a }, streams: { tickets: { deleted: "status ==" } } }
sources:
  - { user: alice, provider: desk, credentials: { token: abc } }
`
	_, err := config.Parse(dir+"/syncd.yaml", []byte(cfg), onlyRest, nil)
	for _, want := range []string{dir + "/desk.yaml:20:12: streams.tickets.order", dir + "/syncd.yaml:6:68: streams.tickets.deleted"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got\n%v\nwant %q", err, want)
		}
	}
}

// A source can't send its credentials elsewhere.
func TestASourceDoesNotRedirect(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/desk.yaml", right)
	cfg := `store: sqlite:x.db
providers:
  desk: { connector: ./desk.yaml, schedule: "@daily" }
sources:
  - { user: alice, provider: desk, credentials: { token: abc }, options: { base_url: "https://evil.example" } }
`
	_, err := config.Parse(dir+"/syncd.yaml", []byte(cfg), onlyRest, nil)
	if err == nil || !strings.Contains(err.Error(), "put base_url and auth under the provider desk") {
		t.Errorf("got %v", err)
	}
}

// The shorter spelling of a mapping stands for it alone.
func TestAShorterSpelling(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/desk.yaml", right)
	cfg := `store: sqlite:x.db
providers:
  desk:
    connector: ./desk.yaml
    schedule: "@daily"
    options: { params: { team: a }, streams: { tickets: { paging: link, mark: changed } } }
sources:
  - { user: alice, provider: desk, credentials: { token: abc } }
`
	parsed, err := config.Parse(dir+"/syncd.yaml", []byte(cfg), onlyRest, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := parsed.Sources[0].Options.(*rest.Options).Lists["tickets"]
	if got.Paging != (rest.Paging{By: "link"}) || got.Mark != (rest.Mark{Field: "changed"}) {
		t.Errorf("paging %+v, mark %+v", got.Paging, got.Mark)
	}
}

// A param that the source must set is asked for at the source.
func TestAParamThatIsNotSet(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/desk.yaml", strings.Replace(right, "state: all", `team: "{{ params.team }}"`, 1))
	cfg := `store: sqlite:x.db
providers:
  desk: { connector: ./desk.yaml, schedule: "@daily" }
sources:
  - { user: alice, provider: desk, credentials: { token: abc } }
`
	_, err := config.Parse(dir+"/syncd.yaml", []byte(cfg), onlyRest, nil)
	if err == nil || !strings.Contains(err.Error(), "params.team: it is not set: write options: { params: { team: ... } } at the source") {
		t.Errorf("got %v", err)
	}
	cfg = strings.Replace(cfg, "credentials", "options: { params: { team: a } }, credentials", 1)
	if _, err := config.Parse(dir+"/syncd.yaml", []byte(cfg), onlyRest, nil); err != nil {
		t.Error(err)
	}
}
