package config

import (
	"fmt"
	"net"
	"net/url"
	"reflect"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/syncdhq/syncd"
)

// A provider is a Provider with what its sources need while the file is read.
type provider struct {
	*Provider
	key    *yaml.Node
	value  *yaml.Node
	shape  providerShape
	plan   plan
	client *syncd.Client // for the check of options; it makes no requests

	file     *providerFile // nil: its connector is written in Go
	known    bool          // its connector is, and how it signs
	ok       bool          // its options and base URL are right: those of its sources can be checked
	decoded  syncd.Options // the provider's over the defaults, before paths are resolved
	reported bool          // that it lacks a schedule
}

func (l *loader) allProviders(s spot) {
	n := resolve(s.node)
	if !l.mapping(s, n) {
		return
	}
	for _, e := range l.entries(n) {
		l.oneProvider(resolve(e.key).Value, e)
	}
}

func (l *loader) oneProvider(name string, e entry) {
	if !isName(name, "_-") {
		l.add(e.key, fmt.Sprintf("the provider's name %q is not of 1 to 64 lower case letters, digits, - and _", clip(name)), "")
	}
	p := &provider{Provider: &Provider{Name: name}, key: e.key, value: e.value, shape: providerDefaults()}
	l.providers[name] = p
	l.names = append(l.names, name)
	at := spot{"the provider " + clip(name), e.key, e.value}
	n := resolve(e.value)
	if isNull(n) || n.Kind != yaml.MappingNode {
		l.decode(at, reflect.ValueOf(&p.shape).Elem())
		return
	}
	// Keys that are not known must not hide what else is wrong, nor good
	// keys the provider from its sources.
	l.decode(at, reflect.ValueOf(&p.shape).Elem())
	s := &p.shape
	p.plan, p.Timing = l.timing(l.base, &s.timingShape)
	l.oneOf(&s.OnMissing, "on_missing")
	l.oneOf(&s.OnDisconnect, "on_disconnect")
	p.PurgeLeft = s.OnDisconnect.Value == string(Purge)
	p.OnMissing, p.MaxMissing, p.AllowEmpty = OnMissing(s.OnMissing.Value), s.MaxMissing.Value, s.AllowEmpty.Value
	p.Rate, p.UserRate = l.rate(&s.Rate), l.rate(&s.UserRate)
	p.Budget = l.budgetOver(l.budget, &s.Budget)
	p.AllowHosts = l.hosts(&s.AllowHosts)
	l.connect(p, e)
	l.cfg.Providers[name] = p.Provider
}

// connect finds the provider's connector and reads its options and base URL.
func (l *loader) connect(p *provider, e entry) {
	s := &p.shape
	c := l.connectorOf(p, e)
	if c == nil {
		return
	}
	p.Connector = *c
	var defaults syncd.Options
	if c.Options != nil {
		defaults = c.Options()
	}
	if v := reflect.ValueOf(defaults); v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		l.add(s.Connector.mark(), fmt.Sprintf("the connector %s is at fault: its Options do not return a pointer to a struct", c.Name), "")
		return
	}
	p.decoded, p.ok = defaults, s.Options.good || !s.Options.given()
	if s.Options.good {
		p.decoded, p.ok = l.options(defaults, &s.Options)
	}
	p.known = p.ok && l.describe(p)
	if !p.known {
		p.ok = false
		return
	}
	if _, known := credentialKeys(p.Connector.Auth.Scheme); !known {
		l.add(s.Connector.mark(), fmt.Sprintf("the connector %s is at fault: it signs by %q, which is not known", c.Name, p.Connector.Auth.Scheme), "")
		p.known, p.ok = false, false
		return
	}
	p.ok = l.baseURL(p, &s.BaseURL)
	l.oauth(p, &s.OAuth)
}

// connectorOf returns the connector that a provider names, or nil and an error.
func (l *loader) connectorOf(p *provider, e entry) *syncd.Connector {
	a := &p.shape.Connector
	switch {
	case !a.given():
		l.add(e.key, fmt.Sprintf("the provider %s has no connector", clip(p.Name)), didYouMean(p.Name, l.known))
		return nil
	case !a.good:
		return nil
	case isFile(a.Value):
		return l.connectorFile(p, a)
	}
	c := l.connectors[a.Value]
	if c == nil {
		l.refuse(a.spot, "a connector", problem{fmt.Sprintf("%q is not known", clip(a.Value)), didYouMean(a.Value, l.known)})
	}
	return c
}

// describe takes over what options say of the provider.
func (l *loader) describe(p *provider) bool {
	d, ok := p.decoded.(syncd.Describer)
	if !ok {
		return true
	}
	api, err := d.API()
	if err != nil {
		l.optionsError(p, nil, p.key, err)
		return false
	}
	p.Connector.BaseURL, p.Connector.Auth, p.Connector.Rate = api.BaseURL, api.Auth, api.Rate
	if p.Connector.BaseURL == "" && !p.shape.BaseURL.given() {
		l.add(p.key, fmt.Sprintf("the provider %s has no base_url", clip(p.Name)), "write it such as base_url: https://api.example.com")
		return false
	}
	return true
}

// baseURL sets the provider's base URL and its client. No error shows it: it
// may hold a password.
func (l *loader) baseURL(p *provider, a *at[string]) bool {
	p.BaseURL = p.Connector.BaseURL
	if a.given() {
		if !a.good {
			return false
		}
		message, hint := "", "write it such as https://api.example.com"
		switch u, err := url.Parse(a.Value); {
		case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
			message = "it is not http://HOST or https://HOST"
		case u.User != nil:
			message, hint = "it has a user or password in it", "take them out; they belong under credentials:"
		case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
			message, hint = "it has a query or a fragment, which requests would not have", "take it out"
		}
		if message != "" {
			l.add(a.mark(), "base_url: "+message, hint)
			return false
		}
		p.BaseURL = a.Value
	}
	base := p.BaseURL
	if base == "" {
		base = syncd.NoBase
	}
	client, err := syncd.NewClient(base, noRequests{}, noRequests{})
	if err != nil {
		l.add(p.shape.Connector.mark(), fmt.Sprintf("the connector %s is at fault: its base URL is wrong", p.Connector.Name), "")
		return false
	}
	p.client = client
	return true
}

// rate returns the limit that the file sets, nil if it sets none.
func (l *loader) rate(a *at[rateShape]) *syncd.Limit {
	if !a.given() || resolve(a.node).Kind != yaml.MappingNode {
		return nil
	}
	r := &a.Value
	const usage = "write it such as { requests: 100, per: 1m }"
	if !r.Requests.given() {
		l.add(a.mark(), a.label+" has no requests", usage)
	}
	if !r.Per.given() {
		l.add(a.mark(), a.label+" has no per", usage)
	}
	positive(l, &r.Requests)
	positive(l, &r.Per)
	positive(l, &r.Burst)
	return &syncd.Limit{Requests: r.Requests.Value, Per: r.Per.Value, Burst: r.Burst.Value}
}

func positive[T ~int | ~int64](l *loader, a *at[T]) {
	if a.good && a.Value <= 0 {
		l.refuse(a.spot, "more than 0", problem{"it must be more than 0", "take the key out for no limit of your own"})
	}
}

// hosts checks the further hosts that requests may be sent to.
func (l *loader) hosts(a *at[[]string]) []string {
	var out []string
	if !a.good {
		return nil
	}
	for i, n := range resolve(a.node).Content {
		host := strings.ToLower(a.Value[i])
		if !isHost(host) {
			l.refuse(spot{label: a.label, node: n}, "HOST or HOST:PORT", problem{fmt.Sprintf("%q is not HOST or HOST:PORT", clip(a.Value[i])), "write it such as files.example.com"})
		}
		out = append(out, host)
	}
	return out
}

// isHost reports whether a text is HOST or HOST:PORT. An IPv6 address stands in
// brackets where a port follows.
func isHost(s string) bool {
	if net.ParseIP(s) != nil {
		return true
	}
	name := s
	if h, port, err := net.SplitHostPort(s); err == nil {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return false
		}
		name = h
	}
	return name != "" && (net.ParseIP(name) != nil || !strings.ContainsAny(name, ":/ @?#*[]"))
}
