package connectortest

// bound is what to look at where a request asked for too little.
const bound = "which records a request asks for: what changed at or after req.Since, rounded towards the past to what the provider's filter can tell apart. " +
	"Is the bound exclusive (\"after\" in place of \"since\", \">\" in place of \">=\")? Is it rounded up? If times are exact to the second only, is that Stream.Precision?"

// moved is what to look at where a list that moves lost a record.
const moved = "how the list is followed while it moves. Page numbers and offsets over a list sorted by the time of the last change skip records: each change takes one off an earlier page, " +
	"and all behind it move forward by one. Declare Order: Ascending, if the list is oldest change first and honours Since (the engine then asks from the last mark again); " +
	"else follow tokens or the last record's id, in the order of what never changes"

// orderLook is what to look at where a list is not in its order.
const orderLook = "Stream.Order: does the request ask for the order that is promised, and is the list in that order by the very times that become marks, over all its pages? " +
	"Ascending also promises that Since is honoured: the engine goes on from the last mark of each page, and what later pages hold from before it is lost. " +
	"Promise Unordered if the provider does not"

// all are the scenarios, in the order in which they are played: those first
// whose findings say most.
var all = []scenario{
	{
		name: "whole list", first: true, together: true, do: wholeList,
		story: "its lists keep still",
		look:  "how the list is followed: the token of the next page, and when it ends",
	},
	{
		name: "nothing there", do: nothingThere,
		story: "it has nothing at all, and then its first records",
		look:  bound,
	},
	{
		name: "the same request again", do: sameAgain,
		story: "it kept still, while each request of a run was made once more, an hour later, in reverse order, by another process",
	},
	{
		name: "a record set aside is tried again", fits: replayable, do: replay,
		story: "its elements, which stream.Replay was given one by one",
	},
	{
		name: "ties at the watermark", fits: timed, do: ties,
		story: "after a run, records were created and changed in the very moment up to which it had read",
		look:  bound,
	},
	{
		name: "more ties than a page", fits: timed, do: manyTies,
		story: "more records than a page holds were created in one moment, and one more after they had been read",
		look:  bound + " And how a page full of ties is followed: by the provider's token, and not by the time of its last record",
	},
	{
		name: "late rows", fits: overlapping, do: late,
		story: "after a run, a record showed up that had changed before the watermark, within Stream.Overlap",
		look:  bound + " Overlap is taken off by the engine: nothing is to be added to req.Since",
	},
	{
		name: "changes while it is read", together: true, do: changes,
		story: "before each request, a record that had been read already changed, another was created, and one changed that had not been read yet",
		look:  moved,
	},
	{
		name: "deletions while it is read", fits: deletable, do: deletions,
		story: "before each request, a record that had been read already was deleted",
		look:  moved + ". With page numbers, a deleted record takes one off the page that comes next",
	},
	{
		name: "deletions", fits: deletable, do: deleted,
		story: "records were deleted between two runs",
		look:  bound,
	},
	{
		name: "dates in the future", fits: timed, do: future,
		story: "one record is dated a year ahead; others changed after it had been read",
		look:  "whether anything but the engine moves the bound of requests, such as the highest time of a page; " + bound,
	},
	{
		name: "clocks apart", do: clocksApart,
		story: "its clock is an hour ahead of the machine's, then an hour behind",
		look:  "whether Fetch uses the clock of the machine (time.Now): the only times that count are the provider's",
	},
	{
		name: "crash at every page", together: true, do: crashes,
		story: "it went on changing, while the process died at each commit, before and after it, and another took over",
		look:  "what a page token holds: all that is needed to go on, in any process. Nothing may be kept in a variable between two calls of Fetch; " + moved,
	},
	{
		name: "one page a run", do: budgets,
		story: "it went on changing between runs that were ended after one page each",
		look:  "what a page token holds: all that is needed to go on, in any process. Nothing may be kept in a variable between two calls of Fetch; " + moved,
	},
	{
		name: "poison at page edges", fits: structured, do: poisoned,
		story: "it gave elements that are null, of another type, without an id or with a broken time, first and last of a page",
		look:  "how a page is followed past an element that cannot be decoded: by the provider's token, or by the last record that has an id",
	},
	{
		name: "nulls", fits: structured, do: nulls,
		story: "in one element after the other, one field was null",
		look:  "how a page is followed past an element that cannot be decoded",
	},
	{
		name: "duplicates", do: duplicates,
		story: "it listed elements twice on a page, and the last of a page once more on the next",
		look:  "how the token of the next page is made of a page's records",
	},
	{
		name: "elements out of order", disorder: true, do: disorder,
		story: "it listed the elements within a page in another order than it documents",
		look:  "whether Fetch takes the order of a page's elements for granted, such as in ending the list at the first old one: the engine does that",
	},
	{
		name: "empty pages", fits: emptyPages, do: empties,
		story: "it gave a page without elements, and others after it",
		look:  "how the end of the list is told: by the missing token of a next page, and not by an empty page",
	},
	{
		name: "throttled", do: throttled,
		story: "it answered 429 now and then, with and without Retry-After",
		look:  "whether Fetch makes of an error an empty page, or of a 429 something else than the *HTTPError that it gets",
	},
	{
		name: "throttled for an hour", do: parked,
		story: "in mid-walk it answered 429 with a Retry-After of an hour",
		look:  "errors that Fetch gets are handed on, wrapped with %w",
	},
	{
		name: "a storm of server errors", do: storm,
		story: "it answered 500, 502, 503 and 504 now and then",
		look:  "whether Fetch makes of an error an empty page",
	},
	{
		name: "refused", do: refused,
		story: "from one request of the run on, it answered each with %d",
		look:  "whether Fetch makes of an error an empty page",
	},
	{
		name: "cut bodies", do: cutBodies,
		story: "the bodies of its answers broke off, some without a word",
		look:  "whether Fetch decodes what has come of a body that is not whole",
	},
	{
		name: "pages for people", fits: structured, do: odd(
			oddAnswer{"a page in HTML, the form to sign in", 200, "text/html; charset=utf-8", "<!doctype html><html><head><title>Sign in</title></head></html>"},
			oddAnswer{"a page in HTML that claims to be JSON", 200, "application/json", "<html>Down for maintenance</html>"}),
		story: "from one request of the run on, it answered each with 200 and %s",
		look:  "whether the request asks for JSON (Client.Get does), and whether Fetch makes of an error an empty page",
	},
	{
		name: "empty answers", fits: structured, do: odd(
			oddAnswer{"an empty body", 200, "application/json", ""},
			oddAnswer{"no content (204)", 204, "application/json", ""}),
		story: "from one request of the run on, it answered each with %s",
		look:  "whether Fetch takes a body without anything in it for an empty list (syncd.Decode does not)",
	},
	{
		name: "answers without the list", fits: structured, do: odd(
			oddAnswer{"the body {}", 200, "application/json", "{}"},
			oddAnswer{"a text", 200, "application/json", `"ok"`},
			oddAnswer{"an error in the body", 200, "application/json", `{"error":{"code":"internal_error","message":"something went wrong"}}`}),
		story: "from one request of the run on, it answered each with 200 and %s",
		look:  "whether Fetch takes an answer in which the list is missing for an empty list (syncd.Decode does not), or an error that is told with status 200 for an answer",
	},
	{
		name: "lost sync tokens", fits: syncing, do: lostTokens,
		story: "it had forgotten the sync token, between runs and in mid-walk, and records had changed and were deleted meanwhile",
		look: "what Fetch makes of the provider's answer to a dead token (410 mostly): it must return syncd.ErrResync, " +
			"and with req.Sync and req.Page empty it must list everything",
	},
	{
		name: "dead page tokens", fits: paging, do: deadPages,
		story: "it answered the token of a page with %d, once, in mid-walk and to a run that went on with the page of the run before",
		look:  "whether Fetch makes of the refusal anything else than the *HTTPError that it gets, wrapped with %w: the engine reads the list again",
	},
	{
		name: "repeating pages", disorder: true, do: repeating,
		story: "from some request on, it gave the answer before again and again, or two by turns",
		look:  "the token of the next page, which is the provider's own: the engine ends a walk whose tokens repeat",
	},
	{
		name: "at random", seeds: 8, together: true, do: random,
		story: "records were created, changed and deleted at random while runs were broken off at random",
		look:  moved,
	},
}

// timed fits streams whose walks begin at a time.
func timed(p *proof) string {
	switch {
	case p.stream.Sequence:
		return "marks are sequence numbers"
	case !p.marked:
		return "records have no marks"
	}
	return ""
}

func overlapping(p *proof) string {
	if why := timed(p); why != "" {
		return why
	}
	if p.stream.Overlap == 0 {
		return "Stream.Overlap is 0: a change that shows up late would be lost"
	}
	return ""
}

func deletable(p *proof) string {
	switch {
	case p.facts.Deletions == Never:
		return "nothing is ever deleted"
	case p.name != "" && p.stream.Append:
		return "records of the stream never change"
	}
	return ""
}

func replayable(p *proof) string {
	if p.stream.Replay == nil {
		return "Stream.Replay is not set"
	}
	return ""
}

func structured(p *proof) string {
	if !p.objects {
		return "elements are not JSON objects"
	}
	return ""
}

func emptyPages(p *proof) string {
	if !p.facts.EmptyPages {
		return "Facts.EmptyPages is not set"
	}
	return ""
}

func paging(p *proof) string {
	if !p.paged {
		return "no page is asked for by a token"
	}
	return ""
}

func syncing(p *proof) string {
	if !p.tokens {
		return "the stream has no sync tokens"
	}
	return ""
}
