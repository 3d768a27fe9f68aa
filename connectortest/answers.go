package connectortest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/store"
)

// hit reports whether something goes wrong with the nth request of a run: with
// every third, at most ten of them. In the first round the first request of all
// is not hit, so that a walk is under way; in the others it is, for the sake of
// lists that are read with one.
func hit(round, n int) bool { return n <= 30 && n%3 == []int{2, 1, 1}[round] }

// rounds is how many there are.
const rounds = 3

// sometimes answers the requests that are hit in the fake's place.
func sometimes(round int, refuse func(i int, req *http.Request) *http.Response) func(int, *http.Request) (*http.Response, error) {
	return func(n int, req *http.Request) (*http.Response, error) {
		if !hit(round, n) {
			return nil, nil
		}
		return refuse(n/3+round, req), nil
	}
}

func throttled(p *play) {
	p.populateAll()
	for round := range rounds {
		p.wire.answer = sometimes(round, func(i int, req *http.Request) *http.Response {
			resp := p.wire.refuse(req, http.StatusTooManyRequests, "application/json", `{"error":"slow down"}`)
			if i%2 == 0 {
				resp.Header.Set("Retry-After", "3")
			}
			return resp
		})
		p.well(how{})
		p.settle()
		p.churn()
	}
}

func storm(p *play) {
	p.populateAll()
	for round := range rounds {
		p.wire.answer = sometimes(round, func(i int, req *http.Request) *http.Response {
			return p.wire.refuse(req, []int{500, 502, 503, 504}[i%4], "text/html", "<html>no</html>")
		})
		p.well(how{})
		p.settle()
		p.churn()
	}
}

// from is the request of a run that is in mid-walk.
func (p *play) from() int {
	if p.several {
		return 2
	}
	return 1
}

func parked(p *play) {
	p.populateAll()
	limits := 0
	p.wire.answer = func(n int, req *http.Request) (*http.Response, error) {
		if n < p.from() {
			return nil, nil
		}
		limits++
		resp := p.wire.refuse(req, http.StatusTooManyRequests, "application/json", `{"error":"slow down"}`)
		resp.Header.Set("Retry-After", "3600")
		return resp, nil
	}
	began := time.Now()
	res := p.goes(how{})
	switch wait := res.Until.Sub(began); {
	case res.State != store.Parked:
		p.fail(p.sc.look, "the run ended %s (%s); it must wait for the hour to pass", res.State, short(res.Err))
		panic(stop{})
	case limits > 1:
		p.fail("whether Fetch asks again by itself", "it asked %d times more after it was told to wait for an hour", limits-1)
	case wait < 59*time.Minute || wait > 62*time.Minute:
		p.fail("Connector.Rate.Quota", "the run waits for %s, the provider asked for an hour", wait)
	}
	p.calm()
	wait(time.Hour)
	p.settle()
}

// refuseFrom answers each request from the nth on with a status.
func (p *play) refuseFrom(from, status int, count *int) func(int, *http.Request) (*http.Response, error) {
	return func(n int, req *http.Request) (*http.Response, error) {
		if n < from {
			return nil, nil
		}
		*count++
		return p.wire.refuse(req, status, "application/json", `{"error":"no"}`), nil
	}
}

// refused refuses requests, from the first one or one in mid-walk on.
func refused(p *play) {
	story := p.sc.story
	p.populateAll()
	for _, status := range []int{401, 403, 500, 400, 404} {
		for from := 1; from <= 3; from++ {
			p.sc.story = fmt.Sprintf(story, status)
			count := 0
			p.wire.answer = p.refuseFrom(from, status, &count)
			res := p.goes(how{})
			// What 400 and 404 say, a connector may know better.
			if must := status != 400 && status != 404; must && count > 0 && res.State == store.Done {
				p.fail(p.sc.look, "from request %d on all was refused with %d, and the run ended as if all had been read; requests: %s", from, status, p.requests())
				panic(stop{})
			}
			p.calm()
			p.well(how{})
			p.compare(false)
			p.churn()
		}
	}
	p.settle()
}

// An oddAnswer is an answer with 2xx that is none.
type oddAnswer struct {
	what              string
	status            int
	contentType, body string
}

func odd(answers ...oddAnswer) func(*play) {
	return func(p *play) {
		story := p.sc.story
		p.populateAll()
		for _, a := range answers {
			for from := 1; from <= 3; from++ {
				p.sc.story = fmt.Sprintf(story, a.what)
				count := 0
				p.wire.answer = func(n int, req *http.Request) (*http.Response, error) {
					if n < from {
						return nil, nil
					}
					count++
					return p.wire.refuse(req, a.status, a.contentType, a.body), nil
				}
				if res := p.goes(how{}); count > 0 && res.State == store.Done {
					p.fail(p.sc.look, "from request %d on no answer held a list, and the run ended as if all had been read; requests: %s", from, p.requests())
					panic(stop{})
				}
				p.calm()
				p.well(how{})
				p.compare(false)
				p.churn()
			}
		}
		p.settle()
	}
}

// cutBodies breaks bodies off: with an error, or as if they ended there. Who
// reads all of a list from one body, as it comes, may fail: the next run reads
// it again.
func cutBodies(p *play) {
	p.populateAll()
	for round := range rounds {
		p.wire.after = func(n int, resp *http.Response) *http.Response {
			if !hit(round, n) {
				return resp
			}
			body, err := io.ReadAll(resp.Body)
			if err != nil || len(body) < 4 {
				return resp
			}
			half := body[:len(body)/2]
			if p.objects && (n+round)%2 == 0 {
				half = bytes.TrimRight(half, "]}\" \n\t")
				resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(half)), -1
				return resp
			}
			resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(half), broken{}))
			return resp
		}
		if p.several {
			p.well(how{})
		} else {
			p.goes(how{})
		}
		p.settle()
		p.churn()
	}
}

// broken is a body whose connection is closed.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// deadPages refuses the token of a page, once, in mid-walk and when a run goes on
// with the page of the run before.
func deadPages(p *play) {
	story := p.sc.story
	p.populateAll()
	refusals := 0
	for _, status := range []int{http.StatusBadRequest, http.StatusNotFound, http.StatusGone} {
		for _, budget := range []int{0, 1} {
			p.sc.story = fmt.Sprintf(story, status)
			if budget > 0 {
				p.goes(how{budget: budget, full: true})
			}
			due, done := false, false
			p.fetching = func(req syncd.Request) { due = req.Page != "" && !done }
			p.wire.answer = func(_ int, req *http.Request) (*http.Response, error) {
				if !due {
					return nil, nil
				}
				due, done = false, true
				refusals++
				return p.wire.refuse(req, status, "application/json", `{"error":"the token is no longer valid"}`), nil
			}
			if res := p.goes(how{full: budget == 0}); res.State != store.Done {
				p.fail(p.sc.look, "the run ended %s (%v); requests: %s", res.State, short(res.Err), p.requests())
				panic(stop{})
			}
			p.calm()
			p.well(how{})
			p.compare(false)
			p.churn()
		}
	}
	if refusals == 0 {
		p.fail("the suite cannot go on", "no page was asked for by its token")
	}
	p.settle()
}

// lostTokens forgets the sync tokens, between runs and in mid-walk.
func lostTokens(p *play) {
	p.populateAll()
	p.well(how{})
	for round := range 3 {
		p.churn()
		for _, at := range p.lists() {
			if p.facts.Deletions != Never {
				p.world.remove(p.world.live(at)[0].key())
			}
		}
		switch round {
		case 0:
			p.world.forget()
		case 1:
			p.wire.before = func(n int) {
				if n == 2 {
					p.world.forget()
				}
			}
		}
		p.well(how{})
		p.calm()
		p.well(how{})
		p.compare(false)
	}
	p.settle()
}

// repeating gives answers again: the one before, or two by turns. The same
// request gets the same answer. What such a provider leaves unread, a full walk
// finds later.
func repeating(p *play) {
	p.populateAll()
	for _, period := range []int{1, 2} {
		given := 0
		p.wire.after = p.repeat(period, &given)
		res := p.goes(how{})
		switch {
		case given > mostRepeats:
			p.fail(p.sc.look, "it gave %d pages that it had given before, and the walk went on: %s", given, p.requests())
			panic(stop{})
		case given > 2 && period == 1 && res.State == store.Done:
			p.fail(p.sc.look, "it gave one page %d times, and the run ended as if all had been read: %s", given, p.requests())
			panic(stop{})
		}
		p.calm()
		p.goes(how{full: true})
		p.well(how{full: true})
		p.compare(true)
		p.churn()
	}
	p.settle()
}

// mostRepeats is how often a page is given again at most.
const mostRepeats = 60

// repeat makes the answers to requests for a list those that the first of them got.
func (p *play) repeat(period int, given *int) func(int, *http.Response) *http.Response {
	type answer struct {
		header http.Header
		body   string
	}
	answers := map[list][]answer{}
	byText := map[string]answer{}
	turn := 0
	return func(n int, resp *http.Response) *http.Response {
		p.world.mu.Lock()
		served := p.world.served
		p.world.served = list{}
		p.world.mu.Unlock()
		if served == (list{}) || *given > mostRepeats {
			return resp
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return resp
		}
		is := answer{resp.Header, string(body)}
		text := p.wire.asked()[n-1]
		before, again := byText[text]
		switch first := answers[served]; {
		case again:
			is = before
		case len(first) < period:
			answers[served] = append(first, is)
		default:
			is = first[turn%period]
			turn++
			*given++
		}
		byText[text] = is
		return reply(resp.Request, http.StatusOK, is.header.Clone(), is.body)
	}
}

func short(err error) string {
	text, _, _ := strings.Cut(fmt.Sprint(err), "\ngoroutine ")
	if len(text) > 600 {
		text = text[:600] + "..."
	}
	return text
}
