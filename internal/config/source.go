package config

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/vault"
)

// maxUser bounds a user's id, in bytes: what fits an index.
const maxUser = 255

// What a source is told apart by.
type sourceKey struct{ user, provider string }

type secrets = map[string]vault.Secret

func (l *loader) allSources(s spot) {
	n := resolve(s.node)
	if n.Kind != yaml.SequenceNode {
		l.add(s.mark(), "sources must be a list, not "+kind(n), "begin each source with a dash: - user: ...")
		return
	}
	if len(n.Content) == 0 {
		l.warn(s.mark(), "there are no sources: all that were are paused, and only what was added at run time is synced")
	}
	l.cfg.Sources = make([]*Source, 0, len(n.Content))
	l.seen = make(map[sourceKey]*yaml.Node, len(n.Content))
	for _, element := range n.Content {
		l.oneSource(element)
	}
}

func (l *loader) oneSource(at *yaml.Node) {
	var s sourceShape
	l.decode(spot{label: "a source", node: at}, reflect.ValueOf(&s).Elem())
	if resolve(at).Kind != yaml.MappingNode {
		return
	}
	out := &Source{User: s.User.Value, Declared: l.declared}
	out.Line, out.Column = l.position(at)
	l.user(at, &s.User)
	p := l.providerOf(at, &s, out)
	if p == nil {
		// What needs no provider is checked all the same.
		l.timing(l.base, &s.timingShape)
		return
	}
	l.twice(at, &s, out)
	out.Timing = l.sourceTiming(at, p, &s)
	if p.ok {
		l.sourceOptions(at, p, &s, out)
	}
	if p.known && l.declared == "" {
		out.Credentials = l.credentials(at, p, &s.Credentials)
	}
	l.cfg.Sources = append(l.cfg.Sources, out)
}

func (l *loader) user(source *yaml.Node, a *at[string]) {
	if !a.given() {
		l.add(source, "the source has no user", "name whose data it is")
		return
	}
	if !a.good {
		return
	}
	const noun = "an id of 1 to 255 bytes without control characters"
	switch {
	case a.Value == "":
		l.refuse(a.spot, noun, problem{"it is empty", "name whose data it is"})
	case len(a.Value) > maxUser:
		l.refuse(a.spot, noun, problem{fmt.Sprintf("it has %d bytes, and %d are allowed", len(a.Value), maxUser), ""})
	case !utf8.ValidString(a.Value):
		l.refuse(a.spot, noun, problem{"it is not UTF-8", ""})
	case strings.ContainsFunc(a.Value, unicode.IsControl):
		l.refuse(a.spot, noun, problem{"it holds a control character", "take it out"})
	}
}

// providerOf finds the provider of a source and sets the source's fields of it.
func (l *loader) providerOf(at *yaml.Node, s *sourceShape, out *Source) *provider {
	if !s.Provider.given() {
		l.add(at, "the source has no provider", didYouMean("", l.names))
		return nil
	}
	if !s.Provider.good {
		return nil
	}
	base, account, second := strings.Cut(s.Provider.Value, "@")
	p := l.providers[base]
	switch {
	case p == nil:
		l.refuse(s.Provider.spot, "a provider", problem{fmt.Sprintf("%q is not among the providers", clip(base)), didYouMean(base, l.names)})
		return nil
	case second && !isName(account, "_-"):
		l.refuse(s.Provider.spot, "a provider", problem{fmt.Sprintf("the account %q is not of 1 to 64 lower case letters, digits, - and _", clip(account)), "write it such as " + clip(base) + "@work"})
	}
	out.Of = p.Provider
	out.Provider = p.Name // the one string, and not a copy of it in each source
	if second {
		out.Provider = s.Provider.Value
	}
	return p
}

// twice reports a user's second source with the same provider.
func (l *loader) twice(at *yaml.Node, s *sourceShape, out *Source) {
	if !s.User.good || s.User.Value == "" {
		return
	}
	key := sourceKey{out.User, out.Provider}
	first := l.seen[key]
	if first == nil {
		l.seen[key] = at
		return
	}
	line, _ := l.position(first)
	here, _ := l.position(at)
	l.add(at, fmt.Sprintf("the sources of lines %d and %d have the same user and provider", line, here),
		fmt.Sprintf("take one out, or write provider: %s@NAME for a second account", clip(out.Of.Name)))
}

// sourceTiming returns the source's timing, nil if it is wrong.
func (l *loader) sourceTiming(at *yaml.Node, p *provider, s *sourceShape) *Timing {
	t := &s.timingShape
	timing := p.Timing
	if t.Schedule.given() || t.Timezone.given() || t.Full.given() || t.Spread.given() || t.CatchUp.given() {
		_, timing = l.timing(p.plan, t)
	}
	lacks := !t.Schedule.given() && !p.shape.Schedule.given()
	if lacks && l.declared != "" {
		l.add(at, "neither the provider "+clip(p.Name)+" nor the source has a schedule", `give one such as "*/15 * * * *"`)
	} else if lacks && !p.reported {
		p.reported = true
		line, _ := l.position(at)
		l.add(p.key, fmt.Sprintf("the provider %s has no schedule, and its source in line %d has none either", clip(p.Name), line),
			`write one such as schedule: "*/15 * * * *"`)
	}
	return timing
}

func (l *loader) sourceOptions(at *yaml.Node, p *provider, s *sourceShape, out *Source) {
	decoded := p.decoded
	if s.Options.given() {
		if !s.Options.good || !l.declaredOptions(p, s) {
			return
		}
		var ok bool
		if decoded, ok = l.options(p.decoded, &s.Options); !ok || !l.describesAlike(p, s, decoded) {
			return
		}
	}
	v, settings := l.finish(p, decoded)
	if v.err != nil {
		l.optionsError(p, &s.Options, at, v.err)
		return
	}
	out.Options, out.Settings = v.options, settings
}

// describesAlike refuses options of a source that would send its requests, and
// its credentials, elsewhere than the provider's do.
func (l *loader) describesAlike(p *provider, s *sourceShape, decoded syncd.Options) bool {
	d, ok := decoded.(syncd.Describer)
	if !ok {
		return true
	}
	api, err := d.API()
	if err != nil {
		l.optionsError(p, &s.Options, s.Options.node, err)
		return false
	}
	if api.Rate.App != p.Connector.Rate.App || api.Rate.User != p.Connector.Rate.User {
		l.add(s.Options.key, "options: the provider's limits hold for all its sources", "put rate and user_rate under the provider "+clip(p.Name))
		return false
	}
	if api.BaseURL != p.Connector.BaseURL || !reflect.DeepEqual(api.Auth, p.Connector.Auth) {
		l.add(s.Options.key, "options: where requests go and how they are signed is the provider's to say", "put base_url and auth under the provider "+clip(p.Name))
		return false
	}
	return true
}

// credentialKeys returns the keys that a way of signing takes.
func credentialKeys(scheme syncd.Scheme) (keys []string, known bool) {
	switch scheme {
	case syncd.NoAuth:
		return nil, true
	case syncd.Bearer, syncd.HeaderKey, syncd.QueryKey, syncd.OAuth2:
		return []string{"token"}, true
	case syncd.Basic:
		return []string{"username", "password"}, true
	}
	return nil, false
}

// credentials reads the secrets of a source. No error shows one.
func (l *loader) credentials(at *yaml.Node, p *provider, t *subtree) secrets {
	keys, _ := credentialKeys(p.Connector.Auth.Scheme)
	if !t.given() {
		switch {
		case p.OAuth != nil || p.Connector.Auth.Optional: // its user connects
		case p.Connector.Auth.Scheme == syncd.OAuth2:
			l.add(at, fmt.Sprintf("the connector %s needs an account that is connected", p.Connector.Name),
				fmt.Sprintf("write oauth: { client_id: ..., client_secret: ... } under the provider %s and run syncd connect, or credentials: { token: ... } here", clip(p.Name)))
		default:
			l.lacking(at, p, keys)
		}
		return nil
	}
	if !t.good || !l.mapping(t.spot, resolve(t.node)) {
		return nil
	}
	values := make([]credential, 0, 2)
	given := make([]string, 0, 2)
	for _, e := range l.entries(resolve(t.node)) {
		name := resolve(e.key).Value
		if !slices.Contains(keys, name) {
			hint := didYouMean(name, keys)
			if len(keys) == 0 {
				hint = fmt.Sprintf("the connector %s takes none", p.Connector.Name)
			}
			l.add(e.key, fmt.Sprintf("credentials has no key %q", clip(name)), hint)
			continue
		}
		given = append(given, name)
		if value, ok := l.secret(spot{name, e.key, e.value}, p.Connector.Auth.Scheme); ok {
			values = append(values, credential{keys[slices.Index(keys, name)], value})
		}
	}
	var missing []string
	for _, k := range keys {
		if !slices.Contains(given, k) {
			missing = append(missing, k)
		}
	}
	if len(given) > 0 || !p.Connector.Auth.Optional {
		l.lacking(t.mark(), p, missing)
	}
	return l.sharedSecrets(values)
}

// lacking reports the keys that must be set, and how.
func (l *loader) lacking(at *yaml.Node, p *provider, keys []string) {
	if len(keys) == 0 {
		return
	}
	stem := strings.ToUpper(strings.ReplaceAll(p.Name, "-", "_"))
	var set []string
	for _, k := range keys {
		set = append(set, fmt.Sprintf(`%s: "${%s_%s}"`, k, stem, strings.ToUpper(k)))
	}
	l.add(at, fmt.Sprintf("the connector %s needs credentials: %s", p.Connector.Name, strings.Join(keys, " and ")),
		"write credentials: { "+strings.Join(set, ", ")+" }")
}

// secret reads one credential.
func (l *loader) secret(s spot, scheme syncd.Scheme) (string, bool) {
	n := resolve(s.node)
	if isNull(n) {
		return "", l.empty(s)
	}
	if n.Kind != yaml.ScalarNode {
		l.add(s.mark(), fmt.Sprintf("%s must be a text, not %s", s.label, kind(n)), "")
		return "", false
	}
	if !l.tagged(s, n) {
		return "", false
	}
	value, ok := l.text(s, n)
	if !ok {
		return "", false
	}
	message := ""
	switch {
	case value == "" && hasVariable(n):
		message = "the environment variable behind " + variables(n) + " is empty"
	case value == "" && (scheme != syncd.Basic || s.label != "password"):
		message = "it is empty"
	case strings.TrimSpace(value) != value:
		message = "it begins or ends with white space or a line break"
	case strings.ContainsFunc(value, unicode.IsControl) || !utf8.ValidString(value):
		message = "it holds a control character or bytes that are not UTF-8"
	}
	if message != "" {
		l.add(s.mark(), s.label+": "+message, "")
		return "", false
	}
	return value, true
}

// A credential is one secret, in plain.
type credential struct{ key, value string }

// sharedSecrets returns the one map for all sources with these values.
func (l *loader) sharedSecrets(values []credential) secrets {
	if len(values) == 0 {
		return nil
	}
	slices.SortFunc(values, func(a, b credential) int { return strings.Compare(a.key, b.key) })
	var text []byte
	for _, c := range values {
		text = binary.AppendUvarint(append(text, c.key...), uint64(len(c.value)))
		text = append(text, c.value...)
	}
	sum := sha256.Sum256(text)
	if m := l.shared.credentials[sum]; m != nil {
		return m
	}
	m := make(secrets, len(values))
	for _, c := range values {
		m[c.key] = vault.NewSecret(c.value)
	}
	l.shared.credentials[sum] = m
	return m
}
