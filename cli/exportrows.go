package cli

import (
	"context"
	"errors"
	"time"
	"unicode/utf8"

	"github.com/syncdhq/syncd/internal/store"
)

func (e *export) sources(ctx context.Context) error {
	return all(e, "sources", sourcesOf(ctx, e.s, store.SourceFilter{User: e.user}), func(s store.Source) any {
		return struct {
			Table      string     `json:"table"`
			Provider   string     `json:"provider"`
			Connector  string     `json:"connector"`
			Schedule   string     `json:"schedule"`
			Declared   string     `json:"declared,omitempty"`
			Account    string     `json:"account,omitempty"`
			Paused     []string   `json:"paused"`
			NextAt     *time.Time `json:"next_at"`
			DueAt      *time.Time `json:"due_at"`
			FullAt     *time.Time `json:"full_at,omitempty"`
			Resume     string     `json:"resume,omitempty"`
			Failures   int        `json:"failures"`
			LastRunID  string     `json:"last_run_id,omitempty"`
			LastDoneAt *time.Time `json:"last_done_at,omitempty"`
			CreatedAt  time.Time  `json:"created_at"`
		}{"sources", s.Provider, s.Connector, s.Schedule, s.Declared, s.Account, append([]string{}, s.Paused...), maybe(s.NextAt), maybe(s.DueAt), maybe(s.FullAt),
			s.Resume, s.Failures, s.LastRunID, maybe(s.LastDoneAt), s.CreatedAt}
	})
}

// credentials writes of what kind they are and whose, and nothing that they hold.
func (e *export) credentials(ctx context.Context) error {
	rows, err := e.s.Credentials(ctx, store.CredentialFilter{User: e.user})
	if err != nil {
		return err
	}
	return all(e, "credentials", each(rows), func(c store.Credential) any {
		return struct {
			Table     string     `json:"table"`
			Provider  string     `json:"provider"`
			Kind      string     `json:"kind"`
			Identity  string     `json:"identity,omitempty"`
			Refused   string     `json:"refused,omitempty"`
			ExpiresAt *time.Time `json:"expires_at,omitempty"`
			CreatedAt time.Time  `json:"created_at"`
			UpdatedAt time.Time  `json:"updated_at"`
		}{"credentials", c.Provider, c.Kind, c.Identity, c.Refused, maybe(c.ExpiresAt), c.CreatedAt, c.UpdatedAt}
	})
}

func (e *export) cursors(ctx context.Context) error {
	rows := paged(func(last store.UserCursor) ([]store.UserCursor, error) {
		return e.s.CursorsOf(ctx, e.user, last, pageRows)
	})
	return all(e, "cursors", rows, func(c store.UserCursor) any {
		return struct {
			Table     string    `json:"table"`
			Provider  string    `json:"provider"`
			Stream    string    `json:"stream"`
			Part      string    `json:"part"`
			Watermark int64     `json:"watermark"`
			State     string    `json:"state"`
			RunID     string    `json:"run_id"`
			UpdatedAt time.Time `json:"updated_at"`
		}{"cursors", c.Provider, c.Stream, c.Part, c.Watermark, c.State, c.RunID, c.UpdatedAt}
	})
}

func (e *export) records(ctx context.Context) error {
	for last := (store.RecordKey{}); ; {
		page, err := e.s.RecordsOf(ctx, e.user, last, exportedAtOnce)
		if err != nil {
			return err
		}
		for _, r := range page {
			err := e.row("records", struct {
				Table       string     `json:"table"`
				Provider    string     `json:"provider"`
				Stream      string     `json:"stream"`
				ExternalID  string     `json:"external_id"`
				Mark        int64      `json:"mark"`
				Version     int64      `json:"version"`
				DeletedAt   *time.Time `json:"deleted_at"`
				Absent      bool       `json:"absent"`
				FirstSeenAt time.Time  `json:"first_seen_at"`
				UpdatedAt   time.Time  `json:"updated_at"`
				RunID       string     `json:"run_id"`
			}{"records", r.Provider, r.Stream, r.ID, r.Mark, r.Version, maybe(r.DeletedAt), r.Absent, r.FirstSeenAt, r.UpdatedAt, r.RunID}, r.Data)
			if err != nil {
				return err
			}
			last = store.RecordKey{Provider: r.Provider, ID: r.ID}
		}
		if len(page) < exportedAtOnce {
			return nil
		}
	}
}

// rejects writes them with their bytes, as text where they are UTF-8.
func (e *export) rejects(ctx context.Context) error {
	for _, provider := range e.providers {
		for listed, err := range rejectsOf(ctx, e.s, store.RejectFilter{User: e.user, Provider: provider, Resolved: true}) {
			if err != nil {
				return err
			}
			r, err := e.s.Reject(ctx, listed.ID)
			if errors.Is(err, store.ErrNotFound) { // it was removed meanwhile
				continue
			}
			if err != nil {
				return err
			}
			var text *string
			var bytes []byte
			if utf8.Valid(r.Raw) {
				s := string(r.Raw)
				text = &s
			} else {
				bytes = r.Raw
			}
			err = e.row("rejects", struct {
				Table      string    `json:"table"`
				Provider   string    `json:"provider"`
				ID         int64     `json:"id"`
				Stream     string    `json:"stream"`
				Part       string    `json:"part"`
				RecordID   string    `json:"record_id"`
				Mark       int64     `json:"mark"`
				Deleted    bool      `json:"deleted"`
				Reason     string    `json:"reason"`
				Detail     string    `json:"detail"`
				Place      string    `json:"place"`
				RawSize    int64     `json:"raw_size"` // of which at most 1 MiB is kept
				RunID      string    `json:"run_id"`
				FirstAt    time.Time `json:"first_at"`
				LastAt     time.Time `json:"last_at"`
				Times      int64     `json:"times"`
				Resolution string    `json:"resolution"`
				Raw        *string   `json:"raw,omitempty"`
				RawBase64  []byte    `json:"raw_base64,omitempty"`
			}{"rejects", r.Provider, r.ID, r.Stream, r.Part, r.RecordID, r.Mark, r.Deleted, r.Reason, r.Detail, r.Place, r.RawSize,
				r.RunID, r.FirstAt, r.LastAt, r.Times, r.Resolution, text, bytes}, nil)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *export) runs(ctx context.Context) error {
	for _, provider := range e.providers {
		err := all(e, "runs", runsOf(ctx, e.s, store.RunFilter{User: e.user, Provider: provider}), func(r store.Run) any {
			return struct {
				Table     string     `json:"table"`
				Provider  string     `json:"provider"`
				ID        string     `json:"id"`
				Trigger   string     `json:"trigger"`
				Tick      *time.Time `json:"tick"`
				Full      bool       `json:"full_walk"`
				State     string     `json:"state"`
				Input     string     `json:"input_fingerprint"`
				StartedAt time.Time  `json:"started_at"`
				EndedAt   *time.Time `json:"ended_at"`
				store.Counters
				Pages    int64  `json:"pages"`
				Requests int64  `json:"requests"`
				Error    string `json:"error"`
				Notes    string `json:"notes"`
				Resumes  string `json:"resumes,omitempty"`
			}{"runs", r.Provider, r.ID, r.Trigger, maybe(r.Tick), r.Full, r.State, r.Input, r.StartedAt, maybe(r.EndedAt),
				r.Counters, r.Pages, r.Requests, r.Error, r.Notes, r.Resumes}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *export) changes(ctx context.Context) error {
	for from := int64(0); ; {
		page, next, err := e.s.ChangesOf(ctx, e.user, from)
		if err != nil {
			return err
		}
		err = all(e, "changes", each(page), func(c store.UserChange) any {
			return struct {
				Table      string    `json:"table"`
				Provider   string    `json:"provider"`
				Seq        int64     `json:"seq"`
				Stream     string    `json:"stream"`
				ExternalID string    `json:"external_id"`
				Kind       string    `json:"kind"`
				Version    int64     `json:"version"`
				Mark       int64     `json:"mark"`
				RunID      string    `json:"run_id"`
				At         time.Time `json:"at"`
			}{"changes", c.Provider, c.Seq, c.Stream, c.ID, c.Kind, c.Version, c.Mark, c.RunID, c.At}
		})
		if err != nil || next == 0 {
			return err
		}
		from = next
	}
}

func (e *export) events(ctx context.Context) error {
	rows := paged(func(last store.Event) ([]store.Event, error) {
		return e.s.Events(ctx, store.EventFilter{User: e.user, Before: last.Seq, Limit: pageRows})
	})
	return all(e, "events", rows, func(v store.Event) any {
		return struct {
			Table    string    `json:"table"`
			Provider string    `json:"provider"`
			Seq      int64     `json:"seq"`
			Kind     string    `json:"kind"`
			Detail   string    `json:"detail"`
			At       time.Time `json:"at"`
		}{"events", v.Provider, v.Seq, v.Kind, v.Detail, v.At}
	})
}
