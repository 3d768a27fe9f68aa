package web

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/syncdhq/syncd/internal/store"
)

// A request with an Idempotency-Key is done once, whichever daemon it comes to:
// sent again, it gets the answer of the first time (draft-ietf-httpapi-idempotency-key-header).
const (
	answersLast = 24 * time.Hour
	underWay    = 5 * time.Minute // how long a request that was begun keeps its repetition off
)

// A memo of an answer.
type kept struct {
	Digest string          `json:"digest"` // of the request
	Done   bool            `json:"done"`
	Status int             `json:"status,omitempty"`
	Value  json.RawMessage `json:"value,omitempty"`
	Fault  *Problem        `json:"fault,omitempty"`
}

// once does a call, or returns what came of the same call before.
func (a *API) once(ctx context.Context, c *call, do func(context.Context) (answer, error)) (answer, bool, error) {
	key := c.Header.Get("Idempotency-Key")
	if c.Method != http.MethodPost || key == "" {
		done, err := do(ctx)
		return done, false, err
	}
	m := store.Memo{Kind: store.MemoAnswer, ID: digest(c.caller, key)}
	k := kept{Digest: digest(c.Method, c.URL.Path, string(c.body))}
	version, err := a.note(ctx, m, k, underWay)
	if errors.Is(err, store.ErrConflict) {
		done, err := a.before(ctx, m.ID, k.Digest)
		return done, err == nil, err
	}
	if err != nil {
		return answer{}, false, err
	}
	// What was begun is ended, also if the caller has gone away.
	ctx = context.WithoutCancel(ctx)
	done, failed := do(ctx)
	m.Version, m.User = version, done.user
	k.Done, k.Status = true, done.status
	ttl := answersLast
	if problem, ok := errors.AsType[*Problem](failed); ok && problem.Status < 500 && problem.Code != "running" {
		k.Fault = problem
	} else if failed != nil {
		k.Done, ttl = false, time.Microsecond // it may be tried again
	}
	if k.Value, err = json.Marshal(done.value); err != nil {
		return answer{}, false, err
	}
	if _, err := a.note(ctx, m, k, ttl); err != nil && failed == nil {
		a.Log.Warn("an answer could not be kept for a repetition", "error", err)
	}
	return done, false, failed
}

func (a *API) note(ctx context.Context, m store.Memo, k kept, ttl time.Duration) (int64, error) {
	body, err := json.Marshal(k)
	if err != nil {
		return 0, err
	}
	m.Body = string(body)
	return a.Memos.PutMemo(ctx, m, ttl)
}

// before returns what came of the call before.
func (a *API) before(ctx context.Context, id, request string) (answer, error) {
	m, err := a.Memos.Memo(ctx, store.MemoAnswer, id)
	if errors.Is(err, store.ErrNotFound) {
		return answer{}, Fault(http.StatusConflict, "in_progress", "the same request failed just now: send it again")
	}
	if err != nil {
		return answer{}, err
	}
	var k kept
	if err := json.Unmarshal([]byte(m.Body), &k); err != nil {
		return answer{}, err
	}
	switch {
	case k.Digest != request:
		return answer{}, Fault(http.StatusUnprocessableEntity, "idempotency_key_reused", "this Idempotency-Key was used for another request: make a new one for each")
	case !k.Done:
		return answer{}, Fault(http.StatusConflict, "in_progress", "the same request is being done: ask again in a while")
	case k.Fault != nil:
		return answer{}, k.Fault
	}
	var value any
	if string(k.Value) != "null" {
		value = k.Value
	}
	return answer{status: k.Status, value: value, whole: a.wholeAgain(value)}, nil
}

// digest is a short hash of texts, told apart by their lengths' separators.
func digest(texts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(texts, "\x00")))
	return encode(sum[:])
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// joined and pair turn two texts into one opaque text and back.
func joined(a, b string) string {
	text, err := json.Marshal([2]string{a, b})
	if err != nil {
		return ""
	}
	return encode(text)
}

func pair(text string) (a, b string, ok bool) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	var both [2]string
	if err != nil || json.Unmarshal(raw, &both) != nil {
		return "", "", false
	}
	return both[0], both[1], true
}
