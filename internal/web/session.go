package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/syncdhq/syncd/internal/connect"
	"github.com/syncdhq/syncd/internal/store"
)

// A session is a way to a connected account, for programs. Its link is made
// anew for each answer and never stored.
type session struct {
	ID        string         `json:"id"`
	User      string         `json:"user"`
	Provider  string         `json:"provider"`
	Status    connect.Status `json:"status"`
	Detail    string         `json:"detail,omitempty"`
	ExpiresAt time.Time      `json:"expires_at"`
	Link      string         `json:"link,omitempty"`
}

func sessionOf(s connect.Session) session {
	return session{ID: s.ID, User: s.Key.User, Provider: s.Key.Provider, Status: s.Status, Detail: s.Detail, ExpiresAt: s.Expires.UTC()}
}

func (a *API) newSession(ctx context.Context, c *call) (answer, error) {
	d, rest, err := declared(c.body)
	if err != nil {
		return answer{}, err
	}
	if a.Settings().URL == "" {
		return answer{}, Fault(http.StatusConflict, "no_url", "the configuration does not say where users' browsers find this server: write url under api")
	}
	key := store.Key{User: d.User, Provider: d.Provider}
	if err := a.Accounts.Begin(ctx, key, rest, d.ReturnTo); err != nil {
		return answer{}, err
	}
	sessions, err := a.Sessions(ctx)
	if err != nil {
		return answer{}, err
	}
	made, err := sessions.New(ctx, key, rest, d.ReturnTo)
	if err != nil {
		return answer{}, err
	}
	value := sessionOf(made)
	return answer{status: http.StatusCreated, value: value, whole: a.wholeAgain(value), user: key.User}, nil
}

// wholeAgain adds the link to a session that was made.
func (a *API) wholeAgain(value any) func(any) (any, error) {
	return func(any) (any, error) {
		made, ok := value.(session)
		if raw, again := value.(json.RawMessage); again {
			ok = json.Unmarshal(raw, &made) == nil && made.ID != "" && made.Status == connect.Open
		}
		if !ok {
			return value, nil
		}
		sessions, err := a.Sessions(context.Background())
		if err != nil {
			return nil, err
		}
		made.Link = a.Settings().URL + "/connect/" + sessions.Link(made.ID)
		return made, nil
	}
}

func (a *API) showSession(ctx context.Context, c *call) (answer, error) {
	sessions, err := a.Sessions(ctx)
	if err != nil {
		return answer{}, err
	}
	s, err := sessions.Session(ctx, c.PathValue("id"))
	if errors.Is(err, store.ErrNotFound) {
		err = Fault(http.StatusNotFound, "no_such_session", "there is no such session, or it is over: they last %s", connect.Lasts)
	}
	return answer{status: http.StatusOK, value: sessionOf(s)}, err
}
