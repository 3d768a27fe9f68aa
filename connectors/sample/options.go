package sample

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/syncdhq/syncd"
)

// The limits of the options. Size times ChangeEvery is how long it takes until
// every customer has changed once.
const (
	minSize, maxSize   = 10, 5000
	minEvery, maxEvery = 100 * time.Millisecond, 24 * time.Hour
)

// check returns a *syncd.OptionError for an option out of its limits.
func (o *Options) check() error {
	switch {
	case len(o.Account) > 200:
		return syncd.BadOption("account", "it is longer than 200 bytes")
	case o.Size < minSize || o.Size > maxSize:
		return syncd.BadOption("size", "%d is not between %d and %d", o.Size, minSize, maxSize)
	case o.Seed < 0:
		return syncd.BadOption("seed", "%d is below 0", o.Seed)
	case o.ChangeEvery < minEvery || o.ChangeEvery > maxEvery:
		return syncd.BadOption("change_every", "%v is not between %v and %v", o.ChangeEvery, minEvery, maxEvery)
	}
	return nil
}

// query spells the options for the provider, which keeps nothing: every request
// says which world it asks about.
func (o *Options) query() url.Values {
	q := url.Values{
		"size":         {strconv.Itoa(o.Size)},
		"seed":         {strconv.Itoa(o.Seed)},
		"change_every": {o.ChangeEvery.String()},
		"faults":       {strconv.FormatBool(o.Faults)},
	}
	if o.Account != "" {
		q.Set("account", o.Account)
	}
	return q
}

// parseOptions reads what query wrote, over the defaults.
func parseOptions(q url.Values) (Options, error) {
	o := *Connector().Options().(*Options)
	o.Account = q.Get("account")
	errs := []error{
		parse(q, "size", &o.Size, strconv.Atoi),
		parse(q, "seed", &o.Seed, strconv.Atoi),
		parse(q, "change_every", &o.ChangeEvery, time.ParseDuration),
		parse(q, "faults", &o.Faults, strconv.ParseBool),
	}
	if err := errors.Join(errs...); err != nil {
		return o, err
	}
	return o, o.check()
}

// parse sets v to the parameter, if it is there.
func parse[T any](q url.Values, name string, v *T, read func(string) (T, error)) error {
	text := q.Get(name)
	if text == "" {
		return nil
	}
	value, err := read(text)
	if err != nil {
		return fmt.Errorf("%s=%q is not understood", name, text)
	}
	*v = value
	return nil
}
