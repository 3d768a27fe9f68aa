package connectortest

import "time"

// all are the scenarios, in the order in which they are played.
var all = []scenario{
	{
		name:  "whole list",
		story: "its lists keep still",
		look:  "how the list is followed: the token of the next page, and when it ends",
		do:    wholeList,
	},
	{
		name:  "ties at the watermark",
		story: "after a run, records were created and changed in the very moment up to which it had read",
		look:  "whether the bound is exclusive: a request must ask for what changed at or after req.Since, rounded towards the past (\"since\" and not \"after\"; \">=\" and not \">\")",
		fits:  timed,
		do:    ties,
	},
}

// timed fits streams whose walks begin at a time.
func timed(p *proof) string {
	switch {
	case p.stream.Sequence:
		return "marks are sequence numbers"
	case p.stream.Snapshot:
		return "each walk lists everything"
	case !p.marked:
		return "records have no marks"
	}
	return ""
}

func wholeList(p *play) {
	for _, at := range p.lists() {
		p.populate(at, p.count)
	}
	p.well(how{})
	p.compare(false)
	if res := p.well(how{}); res.Counters.Inserted+res.Counters.Updated+res.Counters.Deleted > 0 {
		p.fail("what changes in a record without a change at the provider", "a second run over the same lists wrote records: %+v", res.Counters)
	}
	p.settle()
}

func ties(p *play) {
	for _, at := range p.lists() {
		p.populate(at, p.count)
	}
	for range 2 {
		now := map[list]time.Time{}
		for _, at := range p.lists() {
			now[at] = p.world.create(at).Changed
		}
		p.well(how{})
		for _, at := range p.lists() {
			p.world.add(at, now[at], now[at])
			if p.edits {
				p.world.change(p.world.live(at)[0].key(), now[at], func(*Item) {})
			}
		}
		p.well(how{})
		p.compare(false)
	}
	p.settle()
}
