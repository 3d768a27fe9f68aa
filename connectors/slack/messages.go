package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/syncdhq/syncd"
)

// messages reads the messages of a channel: a stream with one part for each
// channel, in which a message is named by its ts.
//
// A channel's history (https://docs.slack.dev/reference/methods/conversations.history)
// lists what stands in the channel itself, filtered by `oldest`. It is said to
// come newest first; given `oldest` alone, Slack has been seen to begin with the
// page next to that (https://github.com/slackhq/slack-api-docs/issues/4). No
// order is promised here. Replies are listed for one thread at a time
// (https://docs.slack.dev/reference/methods/conversations.replies), and a
// thread is found by its first message alone, which says in latest_reply when
// the last reply was posted. Therefore a walk
//
//   - reads the history from lookback days before the watermark, and
//   - after each page the threads that begin on it and that have a reply since
//     the watermark; a full walk, all threads.
//
// So it sees new messages; edits, reactions and the marks of deletion
// (tombstones) of the last lookback days; new replies in threads that began in
// these days. A full walk finds the rest: older edits, replies in older
// threads, and what was deleted, which is not listed any more.
//
// The mark of a message is its ts, which edits do not move. Of two states of a
// message the one that was listed last counts.
type messages struct {
	*api
	lookback time.Duration
}

// A message is what must be known of a message object.
type message struct {
	TS      ts    `json:"ts"`
	Subtype loose `json:"subtype"`
	Thread  loose `json:"thread_ts"`    // the ts of the thread's first message
	Latest  loose `json:"latest_reply"` // of the first message of a thread with replies
}

// record makes a record. A first message that was deleted while its thread
// lives on is still listed, as a tombstone.
func (m message) record() syncd.Record {
	mark, _ := m.TS.mark()
	return syncd.Record{ID: string(m.TS), Mark: mark, Deleted: m.Subtype == "tombstone"}
}

// A position is where a walk stands: the page token.
type position struct {
	Cursor  string   `json:"cursor,omitempty"`  // of the history's next page; "" if there is none
	Threads []string `json:"threads,omitempty"` // those to be read before it
	Replies string   `json:"replies,omitempty"` // the cursor of the first thread's next page
}

func (p position) token() (string, error) {
	if p.Cursor == "" && len(p.Threads) == 0 {
		return "", nil
	}
	text, err := json.Marshal(p)
	return string(text), err
}

func (m *messages) fetch(ctx context.Context, req syncd.Request) (syncd.Page, error) {
	var at position
	if req.Page != "" {
		if err := json.Unmarshal([]byte(req.Page), &at); err != nil {
			return syncd.Page{}, fmt.Errorf("channel %s: page token %q: %w", req.Part, req.Page, err)
		}
	}
	read := m.history
	if len(at.Threads) > 0 {
		read = m.thread
	}
	records, at, err := read(ctx, req, at)
	if err != nil {
		return syncd.Page{}, fmt.Errorf("channel %s: %w", req.Part, err)
	}
	next, err := at.token()
	return syncd.Page{Records: records, Next: next}, err
}

// history reads a page of the channel's history and finds the threads on it.
func (m *messages) history(ctx context.Context, req syncd.Request, at position) ([]syncd.Record, position, error) {
	body, next, err := m.ask(ctx, "conversations.history", m.query(req, at.Cursor))
	if err != nil {
		return nil, at, err
	}
	at = position{Cursor: next}
	records, err := syncd.Decode(body, "messages", func(msg message) syncd.Record {
		if m.options.Threads && msg.unread(req.Since) && !slices.Contains(at.Threads, string(msg.TS)) {
			at.Threads = append(at.Threads, string(msg.TS))
		}
		return msg.record()
	})
	return records, at, err
}

// unread reports whether the message begins a thread with replies since then. A
// time of the last reply that cannot be read counts as one.
func (m message) unread(since syncd.Mark) bool {
	if m.TS == "" || string(m.Thread) != string(m.TS) {
		return false
	}
	latest, ok := ts(m.Latest).mark()
	return !ok || latest >= since
}

// errElsewhere marks an element of a thread that the channel's history has, too.
var errElsewhere = errors.New("it is in the history")

// thread reads a page of the replies of the first thread. Each has the thread's
// first message beside the replies; and a reply that was also sent to the
// channel is in the history, in the form that counts.
func (m *messages) thread(ctx context.Context, req syncd.Request, at position) ([]syncd.Record, position, error) {
	first := at.Threads[0]
	query := m.query(req, at.Replies)
	query.Set("ts", first)
	body, next, err := m.ask(ctx, "conversations.replies", query)
	if refused, ok := errors.AsType[*refusal](err); ok && refused.code == "thread_not_found" {
		body, err = []byte(`{"messages":[]}`), nil // it was deleted since its first message was listed
	}
	if err != nil {
		return nil, at, fmt.Errorf("thread %s: %w", first, err)
	}
	records, err := syncd.Decode(body, "messages", func(msg message) syncd.Record {
		if string(msg.TS) == first || msg.Subtype == "thread_broadcast" {
			return syncd.Record{Err: errElsewhere}
		}
		return msg.record()
	})
	if err != nil {
		return nil, at, fmt.Errorf("conversations.replies: thread %s: %w", first, err)
	}
	if at.Replies = next; next == "" {
		at.Threads = at.Threads[1:]
	}
	return slices.DeleteFunc(records, func(r syncd.Record) bool { return r.Err == errElsewhere }), at, nil
}

// query is what both lists are asked with: all that was posted at or after the
// bound less the lookback.
func (m *messages) query(req syncd.Request, cursor string) url.Values {
	query := url.Values{"channel": {req.Part}}
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	if from := req.Since - syncd.Mark(m.lookback); req.Since != 0 && from > 0 {
		query.Set("oldest", tsOf(from))
		query.Set("inclusive", "true")
	}
	return query
}
