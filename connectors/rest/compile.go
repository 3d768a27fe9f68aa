package rest

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/syncdhq/syncd/internal/rawjson"
)

// An api is the options when they have been checked.
type api struct {
	params  map[string]any
	used    map[string]string // params that templates use, and where first
	headers []setting
	rules   []rule
	account *accountRequest // nil: the API is not asked
	lists   []*list         // by name
	faults  []error         // all that is wrong
}

// A setting is a query parameter or header with the template of its value.
type setting struct {
	name  string
	value *template
}

// A list is a stream when it has been checked.
type list struct {
	name        string
	api         *api
	path        *template
	query       []setting
	headers     []setting
	body        *template // nil: the request is a GET
	contentType string
	format      string
	records     []string // the steps to the list in the answer
	optional    bool     // it may be missing
	extract     extraction
	since       since
	paging      paging
	sync        syncing
	rules       []rule
	parent      *list
	inParts     bool // it is read in parts: a parent's records, or parts
	parts       []string
	wanted      []string // fields of the parent's records that templates use
}

// since is how a bound is asked for.
type since struct {
	param     string
	clock     clock
	precision time.Duration
	exclusive bool
}

// A syncing is how sync tokens travel.
type syncing struct {
	param string
	next  *expression // nil: there are none
}

// compile checks the options.
func compile(o *Options) *api {
	a := &api{params: map[string]any{}, used: map[string]string{}}
	for name, value := range o.Params {
		a.params[name] = value
	}
	a.checkAPI(o)
	a.headers = a.settings("headers", o.Headers, []string{"params"})
	a.rules = a.compileRules("errors", o.Errors)
	a.account = a.compileAccount(o.Account)
	if len(o.Lists) == 0 {
		a.fault("streams", "there are none: name at least one list to read")
	}
	byName := map[string]*list{}
	for _, name := range slices.Sorted(maps.Keys(o.Lists)) {
		l := a.compileList(name, o.Lists[name])
		byName[name] = l
		a.lists = append(a.lists, l)
	}
	for _, l := range a.lists {
		a.adopt(l, o.Lists[l.name].ForEach, byName)
	}
	for i, name := range o.Only {
		if byName[name] == nil {
			a.fault(fmt.Sprintf("only[%d]", i), "there is no stream %q, only %s", name, strings.Join(slices.Sorted(maps.Keys(byName)), ", "))
		}
	}
	return a
}

func (a *api) fault(option, format string, args ...any) {
	a.faults = append(a.faults, fault(option, format, args...))
}

// checkAPI checks what is not about one stream.
func (a *api) checkAPI(o *Options) {
	if o.BaseURL != "" {
		u, err := url.Parse(o.BaseURL)
		switch {
		case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
			a.fault("base_url", "it is not http://HOST or https://HOST")
		case u.User != nil:
			a.fault("base_url", "it has a user or password in it: they belong under credentials:")
		case u.RawQuery != "" || u.Fragment != "":
			a.fault("base_url", "it has a query or a fragment, which requests would not have")
		}
	}
	if u := o.Auth; u.Scheme != "oauth2" && (u.AuthURL != "" || u.TokenURL != "" || u.DeviceURL != "" || u.RevokeURL != "" || u.RevokeParam != "" || len(u.Scopes) > 0 || len(u.Params) > 0) {
		a.fault("auth.scheme", "URLs and scopes are for the scheme oauth2, not for %q", u.Scheme)
	}
	switch o.Auth.Scheme {
	case "", "none", "bearer", "basic", "oauth2":
		if o.Auth.Name != "" || o.Auth.Prefix != "" {
			a.fault("auth", "name and prefix are for the scheme header (and name for query), not for %q", o.Auth.Scheme)
		}
	case "header", "query":
		switch {
		case o.Auth.Name == "":
			a.fault("auth", "the scheme %s needs a name: which one carries the token", o.Auth.Scheme)
		case o.Auth.Scheme == "header" && (!isHeader(o.Auth.Name) || slices.Contains([]string{"Host", "Content-Length", "Accept-Encoding", "Content-Type", "Accept"}, http.CanonicalHeaderKey(o.Auth.Name))):
			a.fault("auth.name", "%q can't be the header that carries a token", clip(o.Auth.Name))
		}
		if o.Auth.Scheme == "query" && o.Auth.Prefix != "" {
			a.fault("auth.prefix", "a query parameter has no prefix")
		}
	default:
		a.fault("auth.scheme", "%q is none of none, bearer, basic, header, query, oauth2", clip(o.Auth.Scheme))
	}
	for _, l := range []struct {
		option string
		limit  Limit
	}{{"rate", o.Rate}, {"user_rate", o.UserRate}} {
		if l.limit != (Limit{}) && (l.limit.Requests <= 0 || l.limit.Per <= 0) {
			a.fault(l.option, "requests and per must both be more than 0: write it such as { requests: 100, per: 1m }")
		}
	}
	if (o.RateHeaders.Remaining == "") != (o.RateHeaders.Reset == "") {
		a.fault("rate_headers", "remaining and reset are both needed")
	}
}

// compileList checks a stream but for its parent.
func (a *api) compileList(name string, o Stream) *list {
	at := "streams." + name
	l := &list{name: name, api: a, contentType: o.ContentType, format: o.Format}
	l.inParts = o.ForEach != "" || len(o.Parts.Names) > 0 || o.Parts.From != ""
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" || name == "" || len(name) > 64 {
		a.fault(at, "a stream's name is of 1 to 64 lower case letters, digits and underscores")
	}
	if l.format == "" {
		l.format = "json"
	}
	if accepts[l.format] == "" {
		a.fault(at+".format", "%q is none of json, ndjson, csv, xml", clip(o.Format))
	}
	known := []string{"params", "since", "page", "sync", "size"}
	if l.inParts {
		known = append(known, "part")
	}
	if o.ForEach != "" {
		known = append(known, "parent")
	}
	l.path = a.template(at+".path", o.Path, known)
	if strings.Contains(o.Path, "://") || strings.HasPrefix(o.Path, "//") {
		a.fault(at+".path", "it is below base_url, not a URL of its own")
	} else if strings.Contains(o.Path, "?") {
		a.fault(at+".path", "parameters belong under query:")
	}
	l.query = a.settings(at+".query", o.Query, known)
	l.headers = a.settings(at+".headers", o.Headers, known)
	a.compileBody(l, at, o, known)
	a.compileRecords(l, at, o)
	a.compileExtraction(l, at, o)
	a.compileSince(l, at, o)
	a.compilePaging(l, at, o)
	a.compileSync(l, at, o)
	a.compileParts(l, at, o)
	a.checkPromises(l, at, o)
	l.rules = append(a.compileRules(at+".errors", o.Errors), a.rules...)
	return l
}

// template checks a template; what is wrong is a fault of the option.
func (a *api) template(option, source string, known []string) *template {
	t, err := parseTemplate(source, known)
	if err != nil {
		a.fault(option, "%w", err)
		return &template{literals: []string{""}}
	}
	a.useParams(option, t.members("params"))
	return t
}

// expression checks an expression; nil if it is wrong.
func (a *api) expression(option, source string, known []string) *expression {
	e, err := parseExpression(source, known)
	if err != nil {
		a.fault(option, "%w", err)
		return nil
	}
	if known != nil {
		a.useParams(option, e.members["params"])
	}
	return e
}

func (a *api) useParams(option string, names []string) {
	for _, name := range names {
		if _, ok := a.params[name]; !ok {
			a.fault(option, "there is no param %q: declare it under params:, as %s: \"\" if each source is to set it", name, name)
		}
		if a.used[name] == "" {
			a.used[name] = option
		}
	}
}

// needParams refuses params that are used and not set.
func (a *api) needParams() {
	for _, name := range slices.Sorted(maps.Keys(a.used)) {
		if value, ok := a.params[name]; ok && value == "" {
			a.fault("params."+name, "it is not set: write options: { params: { %s: ... } } at the source", name)
		}
	}
}

func (a *api) settings(option string, values map[string]string, known []string) []setting {
	var out []setting
	for _, name := range slices.Sorted(maps.Keys(values)) {
		at := option + "." + name
		switch {
		case strings.HasSuffix(option, "headers") && slices.Contains([]string{"Authorization", "Cookie", "Host", "Content-Length", "Accept-Encoding"}, http.CanonicalHeaderKey(name)):
			a.fault(at, "this header can't be set here; what signs requests belongs under auth: and credentials:")
		case name == "":
			a.fault(option, "a name is empty")
		case strings.HasSuffix(option, "headers") && !isHeader(name):
			a.fault(at, "%q can't be the name of a header", clip(name))
		}
		out = append(out, setting{name, a.template(at, values[name], known)})
	}
	return out
}

// isHeader reports whether a text can be the name of a header (RFC 9110, 5.6.2).
func isHeader(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

func (a *api) compileBody(l *list, at string, o Stream, known []string) {
	if o.Body == "" {
		if o.ContentType != "" {
			a.fault(at+".content_type", "there is no body: that it is of")
		}
		return
	}
	l.body = a.template(at+".body", o.Body, known)
	if l.contentType == "" {
		l.contentType = "application/json"
	}
	if !strings.Contains(l.contentType, "json") {
		return
	}
	for _, sample := range []any{nil, "x"} {
		env := map[string]any{"params": a.params, "since": sample, "page": sample, "sync": sample, "size": 1, "part": "x", "parent": map[string]any{}}
		if text, err := l.body.render(env, nil); err == nil && rawjson.Valid([]byte(text)) != nil {
			a.fault(at+".body", "it does not come to JSON: %v; a value is put in with its quotes by {{ toJSON(page) }}", rawjson.Valid([]byte(text)))
			return
		}
	}
}

// compileRecords checks where the list is in the answer.
func (a *api) compileRecords(l *list, at string, o Stream) {
	source := o.Records
	switch {
	case l.format == "csv" || l.format == "ndjson":
		if source != "" {
			a.fault(at+".records", "an answer in %s is one list: take it out", l.format)
		}
		return
	case source == "":
		return
	}
	before, after, optional := strings.Cut(source, "??")
	if optional {
		if strings.TrimSpace(after) != "[]" {
			a.fault(at+".records", "only ?? [] can follow the place, for a list that may be missing")
		}
		l.optional = true
	}
	e := a.expression(at+".records", before, []string{"body"})
	if e == nil {
		return
	}
	if e.path == nil {
		a.fault(at+".records", "it must be the list's place in the answer, such as body.items: the list's bytes are passed on as they are")
		return
	}
	l.records = e.path[1:]
}

func (a *api) compileExtraction(l *list, at string, o Stream) {
	x := &l.extract
	keys := o.ID
	if len(keys) == 0 {
		keys = Key{"id"}
	}
	for i, source := range keys {
		option := at + ".id"
		if len(keys) > 1 {
			option = fmt.Sprintf("%s.id[%d]", at, i)
		}
		if e := a.expression(option, source, nil); e != nil {
			x.id = append(x.id, e)
		}
	}
	if o.Mark.Field != "" {
		x.mark = a.expression(at+".mark", o.Mark.Field, nil)
	} else if o.Mark != (Mark{}) {
		a.fault(at+".mark", "it has no field")
	}
	var option string
	var err error
	if x.clock, option, err = newClock(o.Mark.Format, o.Mark.Zone); err != nil {
		a.fault(at+".mark."+option, "%w", err)
	}
	if o.Deleted != "" {
		x.deleted = a.expression(at+".deleted", o.Deleted, nil)
	}
	if o.Keep != "" {
		x.keep = a.expression(at+".keep", o.Keep, nil)
	}
	x.done()
}

func (a *api) compileSince(l *list, at string, o Stream) {
	s := o.Since
	format, zone := s.Format, s.Zone
	if format == "" {
		format = o.Mark.Format
	}
	if zone == "" {
		zone = o.Mark.Zone
	}
	c, option, err := newClock(format, zone)
	if err != nil && (s.Format != "" || s.Zone != "") {
		a.fault(at+".since."+option, "%w", err)
	}
	l.since = since{param: s.Param, clock: c, precision: s.Precision, exclusive: s.Exclusive}
	if l.since.precision == 0 {
		l.since.precision = c.precision()
	}
	switch {
	case !l.asksSince():
		l.since.precision = 0
		if s != (Since{}) {
			a.fault(at+".since", "it is sent nowhere: name a param, or use {{ since }} in query or body")
		}
	case o.Mark.Field == "":
		a.fault(at+".since", "it needs mark: what the records say of their time is what is asked for next")
	case c.sequence() != l.extract.clock.sequence():
		a.fault(at+".since.format", "marks and since must both be integers, or both be times")
	}
	if s.Param != "" && o.Query[s.Param] != "" {
		a.fault(at+".since", "the parameter %s is under query: already", s.Param)
	}
}

// asksSince reports whether requests say since when.
func (l *list) asksSince() bool { return l.since.param != "" || l.uses("since") }

// uses reports whether a template of the requests uses a variable.
func (l *list) uses(name string) bool {
	for _, t := range l.templates() {
		if t.uses(name) {
			return true
		}
	}
	return false
}

// templates are those of the stream's requests.
func (l *list) templates() []*template {
	all := []*template{l.path}
	if l.body != nil {
		all = append(all, l.body)
	}
	for _, s := range append(slices.Clone(l.query), l.headers...) {
		all = append(all, s.value)
	}
	return all
}

func (a *api) compileSync(l *list, at string, o Stream) {
	if o.Sync == (Sync{}) {
		return
	}
	l.sync.param = o.Sync.Param
	if o.Sync.Next == "" {
		a.fault(at+".sync", "it has no next: where the answer has the token")
		return
	}
	if o.Sync.Param == "" && !l.uses("sync") {
		a.fault(at+".sync", "the token is sent nowhere: name a param, or use {{ sync }} in query or body")
	}
	l.sync.next = a.expression(at+".sync.next", o.Sync.Next, l.answerVariables())
}

// checkPromises refuses what can't be true together.
func (a *api) checkPromises(l *list, at string, o Stream) {
	if _, ok := orders[o.Order]; !ok {
		a.fault(at+".order", "%q is neither ascending nor descending", clip(o.Order))
	}
	switch {
	case o.Order != "" && o.Mark.Field == "":
		a.fault(at+".order", "an order needs mark: by what the list is ordered")
	case o.Order == "ascending" && !l.asksSince():
		a.fault(at+".order", "ascending needs since: syncd goes on from the last mark and not by page numbers; without it take the order out")
	}
	if o.Snapshot && l.asksSince() {
		a.fault(at+".snapshot", "a snapshot lists everything each time, and since asks for a part of it: take one of them out")
	}
	if o.Overlap > 0 && o.Mark.Field == "" {
		a.fault(at+".overlap", "it needs mark: there is no watermark to start before")
	}
}

// compileParts checks the names of a stream's parts.
func (a *api) compileParts(l *list, at string, o Stream) {
	at += ".parts"
	l.parts = o.Parts.Names
	if o.Parts.From != "" {
		e := a.expression(at, o.Parts.From, []string{"params"})
		if e == nil {
			return
		}
		for _, name := range e.members["params"] {
			if a.params[name] == "" {
				return // the source is to set it
			}
		}
		var err error
		if l.parts, err = e.texts(map[string]any{"params": a.params}); err != nil {
			a.fault(at, "%w", err)
			return
		}
	}
	if o.ForEach != "" && len(l.parts) > 0 {
		a.fault(at, "there is for_each already: take one of them out")
	}
	seen := map[string]bool{}
	for _, p := range l.parts {
		if p == "" || strings.Contains(p, "/") || seen[p] {
			a.fault(at, "the part %q is empty, has a slash, or is there twice", clip(p))
		}
		seen[p] = true
	}
}

// adopt finds the parent of a stream.
func (a *api) adopt(l *list, name string, lists map[string]*list) {
	if name == "" {
		return
	}
	at := "streams." + l.name + ".for_each"
	parent := lists[name]
	switch {
	case name == l.name:
		a.fault(at, "a stream is not its own parent")
	case parent == nil:
		a.fault(at, "there is no stream %q", clip(name))
	case parent.inParts:
		a.fault(at, "the stream %s is read in parts itself, and there is one level of them", name)
	}
	l.parent = parent
	for _, t := range l.templates() {
		l.wanted = append(l.wanted, t.members("parent")...)
	}
	sort.Strings(l.wanted)
	l.wanted = slices.Compact(l.wanted)
}
