package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/syncdhq/syncd/internal/origin"
	"github.com/syncdhq/syncd/internal/vault"
)

// retry sends a request until its answer is settled, or its attempts or the
// run's budget are used up.
func (s *Stack) retry(req *http.Request, stream bool) (*http.Response, error) {
	pause := backoff.ExponentialBackOff{InitialInterval: time.Second, RandomizationFactor: 0.5, Multiplier: 2, MaxInterval: 30 * time.Second}
	var secondary int
	fresh := false // a dropped connection was made good for already
	token, err := s.token(req.Context())
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", req.Method, s.sign.redact(origin.Bare(req.URL)), err)
	}
	renewed := s.cfg.Tokens == nil || !canRepeat(req)
	for attempt := 1; ; attempt++ {
		r := s.attempt(req, stream, secondary)
		if !renewed && r.home && r.resp != nil && r.resp.StatusCode == http.StatusUnauthorized {
			// The token was taken back, or the clocks differ: once, another is got.
			renewed = true
			discard(r.resp)
			if err := s.renew(req.Context(), token); err != nil {
				return nil, fmt.Errorf("%s %s: %w", req.Method, s.sign.redact(origin.Bare(req.URL)), err)
			}
			continue
		}
		if r.err != nil && req.Context().Err() != nil {
			return nil, s.fail(req, req.Context().Err(), attempt)
		}
		if r.err != nil && !repeatable(r.err) {
			return nil, s.fail(req, r.err, attempt)
		}
		more := attempt < s.cfg.Attempts && canRepeat(req)
		if more && r.dropped && !fresh && s.spend() {
			fresh = true
			s.closeIdle()
			continue
		}
		deadline, _ := req.Context().Deadline()
		t := tally{more: more && (r.outcome == settled || s.spend()), backoff: pause.NextBackOff(), now: time.Now(), deadline: deadline}
		next, wait := plan(r.verdict, t, s.cfg.MaxInlineWait, s.cfg.MaxPark)
		until := t.now.Add(wait)
		if r.outcome == limited && r.home {
			s.quiet(until, r.why)
			secondary++
		}
		if next == deliver {
			if r.err != nil {
				return nil, s.fail(req, r.err, attempt)
			}
			return r.resp, nil
		}
		discard(r.resp)
		if next == park {
			return nil, s.fail(req, &WaitError{Until: until, Why: r.why}, attempt)
		}
		if err := sleep(req.Context(), wait); err != nil {
			return nil, s.fail(req, err, attempt)
		}
	}
}

// token makes a token sign that is good for a while, and returns it.
func (s *Stack) token(ctx context.Context) (vault.Secret, error) {
	if s.cfg.Tokens == nil {
		return vault.Secret{}, nil
	}
	token, err := s.cfg.Tokens.Token(ctx)
	if err == nil {
		s.sign.use(token)
	}
	return token, err
}

// renew makes another token sign than the one that was refused.
func (s *Stack) renew(ctx context.Context, used vault.Secret) error {
	token, err := s.cfg.Tokens.Renew(ctx, used)
	if err == nil {
		s.sign.use(token)
	}
	return err
}

// canRepeat reports whether a request only asks and can be sent again.
func canRepeat(req *http.Request) bool {
	switch req.Method {
	case http.MethodGet, http.MethodHead:
		return req.Body == nil || req.GetBody != nil
	case http.MethodPost:
		return req.GetBody != nil
	}
	return false
}

// spend takes one retry from the run's budget, if one is left.
func (s *Stack) spend() bool {
	return s.retries.Add(1) <= int64(s.cfg.Budget)
}

// closeIdle makes the next request open a connection of its own.
func (s *Stack) closeIdle() {
	if base, ok := s.cfg.Base.(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}

// quiet holds back all who share the quota. Whether it is the app's or the
// user's is not said; an app that has a limit is taken to have reached it.
func (s *Stack) quiet(until time.Time, why string) {
	s.cfg.User.Quiet(until, why)
	if s.cfg.App.Limited() {
		s.cfg.App.Quiet(until, why)
	}
}

// pace waits for the user's turn and then for the app's, so that a turn of the
// app is used when it comes.
func (s *Stack) pace(ctx context.Context) error {
	for _, p := range []*Pacer{s.cfg.User, s.cfg.App} {
		if err := p.Wait(ctx, s.cfg.MaxInlineWait); err != nil {
			if w, ok := errors.AsType[*WaitError](err); ok {
				return &WaitError{Until: earlier(w.Until, time.Now().Add(s.cfg.MaxPark)), Why: w.Why}
			}
			if ctx.Err() != nil {
				return err
			}
			return permanent("%s", err) // the limit itself is wrong
		}
	}
	return nil
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// fail words the error of a request.
func (s *Stack) fail(req *http.Request, err error, attempts int) error {
	if _, ok := errors.AsType[*WaitError](err); ok {
		return err
	}
	text, cause := describe(err, s.sign.redact)
	text = fmt.Sprintf("%s %s: %s", req.Method, s.sign.redact(origin.Bare(req.URL)), text)
	if attempts > 1 {
		text += fmt.Sprintf(" (%d attempts)", attempts)
	}
	return &requestError{text, cause}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// discard reads what little is left of an answer, so that its connection can
// be used again, and closes it.
func discard(resp *http.Response) {
	if resp != nil {
		_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // it is thrown away either way
		resp.Body.Close()
	}
}
