package config

import (
	"fmt"
	"strings"
	"time"

	"github.com/syncdhq/syncd/internal/schedule"
)

// maxSpread bounds the time over which sources are spread.
const maxSpread = 24 * time.Hour

// A plan is a Timing before its expressions are read. Equal plans share a Timing.
type plan struct {
	schedule, full string
	zone           *time.Location
	spread         time.Duration
	catchUp        bool
}

// shared is what equal sources share.
type shared struct {
	timings     map[plan]*Timing
	zones       map[string]*time.Location
	schedules   map[expression]parsed
	warned      map[string]bool
	options     map[optionsKey]optionsValue
	credentials map[[32]byte]secrets
}

type expression struct {
	text string
	zone *time.Location
}

type parsed struct {
	schedule schedule.Schedule
	err      error
}

func newShared() shared {
	return shared{
		timings: map[plan]*Timing{}, zones: map[string]*time.Location{}, schedules: map[expression]parsed{},
		warned: map[string]bool{}, options: map[optionsKey]optionsValue{}, credentials: map[[32]byte]secrets{},
	}
}

// timing returns the plan that a shape makes over another, and its Timing. A
// plan without a schedule has the zero Schedule. It is nil if something is
// wrong, which is reported where this shape set it.
func (l *loader) timing(base plan, s *timingShape) (plan, *Timing) {
	p, ok := base, true
	within(l, &s.Spread, 0, maxSpread)
	if s.Spread.good {
		p.spread = s.Spread.Value
	}
	p.catchUp = l.catchUp(&s.CatchUp, base.catchUp)
	if s.Timezone.good {
		zone, good := l.zone(&s.Timezone)
		if ok = good; ok {
			p.zone = zone
		}
	}
	p.schedule = l.expression(&s.Schedule, p.schedule)
	p.full = l.expression(&s.Full, p.full)
	if t := l.shared.timings[p]; t != nil && ok {
		return p, t
	}
	t := &Timing{Timezone: p.zone, Spread: p.spread, CatchUp: p.catchUp}
	if p.schedule != "" || s.Schedule.given() {
		ok = l.parse(&s.Schedule, p.schedule, p.zone, &t.Schedule) && ok
	}
	if p.full != "" || s.Full.given() {
		t.Full = new(schedule.Schedule)
		ok = l.parse(&s.Full, p.full, p.zone, t.Full) && ok
	}
	if !ok {
		return p, nil
	}
	l.shared.timings[p] = t
	return p, t
}

func (l *loader) expression(a *at[string], base string) string {
	if a.given() {
		return a.Value
	}
	return base
}

// parse reads an expression. An error is reported if it is this shape's.
func (l *loader) parse(a *at[string], text string, zone *time.Location, to *schedule.Schedule) bool {
	if a.given() && !a.good {
		return false
	}
	e := expression{text, zone}
	r, ok := l.shared.schedules[e]
	if !ok {
		r.schedule, r.err = schedule.Parse(text, zone)
		l.shared.schedules[e] = r
	}
	*to = r.schedule
	if !a.given() {
		return r.err == nil
	}
	if r.err == nil {
		l.warnOfSchedule(a, r.schedule)
		return true
	}
	message := r.err.Error()
	if a.label != "schedule" {
		message = a.label + ": " + message
	}
	if hasVariable(a.node) {
		l.refuse(a.spot, "a schedule such as */15 * * * * or @every 10m", r.err)
	} else {
		l.add(a.mark(), message, "")
	}
	return false
}

// warnOfSchedule reports each expression's warnings once.
func (l *loader) warnOfSchedule(a *at[string], s schedule.Schedule) {
	if hasVariable(a.node) || l.shared.warned[a.Value] {
		return
	}
	l.shared.warned[a.Value] = true
	for _, w := range s.Warnings() {
		l.warn(a.mark(), a.label+": "+w)
	}
}

func (l *loader) catchUp(a *at[string], base bool) bool {
	if !l.oneOf(a, "catch_up") {
		return base
	}
	return a.Value == "once"
}

// zone returns the zone that is named as in the IANA database.
func (l *loader) zone(a *at[string]) (*time.Location, bool) {
	if z := l.shared.zones[a.Value]; z != nil {
		return z, true
	}
	z, err := loadZone(a.Value)
	if err != nil {
		l.refuse(a.spot, "a time zone such as Europe/Berlin", err)
		return nil, false
	}
	l.shared.zones[a.Value] = z
	return z, true
}

func loadZone(name string) (*time.Location, error) {
	usage := "write one such as UTC or Europe/Berlin"
	if name == "" || name == "Local" {
		return nil, problem{fmt.Sprintf("%q is not a time zone", name), usage}
	}
	z, err := time.LoadLocation(name)
	if err == nil {
		return z, nil
	}
	for _, other := range zoneSpellings(name) {
		if _, err := time.LoadLocation(other); err == nil && other != name {
			return nil, problem{fmt.Sprintf("%q is not a time zone", clip(name)), "did you mean " + other + "?"}
		}
	}
	if strings.HasPrefix(name, "UTC") || strings.HasPrefix(name, "GMT") {
		return nil, problem{fmt.Sprintf("%q is not a time zone", clip(name)), "write the name of a place, such as Europe/Berlin, so that summer time is right"}
	}
	return nil, problem{fmt.Sprintf("%q is not a time zone", clip(name)), usage}
}

// zoneSpellings returns how a zone's name may be spelled in the database.
func zoneSpellings(name string) []string {
	name = strings.ReplaceAll(strings.TrimSpace(name), " ", "_")
	parts := strings.Split(strings.ToLower(name), "/")
	for i, p := range parts {
		words := strings.Split(p, "_")
		for j, w := range words {
			if w != "" && w != "of" && w != "au" && w != "es" {
				words[j] = strings.ToUpper(w[:1]) + w[1:]
			}
		}
		parts[i] = strings.Join(words, "_")
	}
	return []string{strings.ToUpper(name), strings.Join(parts, "/"), name}
}
