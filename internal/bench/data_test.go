package bench

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/syncdhq/syncd"
)

// pageSize is how many records a page has.
const pageSize = 1000

// epoch is the mark of record 0; each next one is a second later.
var epoch = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

var filler = strings.Repeat("lorem ipsum dolor sit amet ", 12)

// appendRecord appends record i of about 470 bytes. A changed record has
// another content and a later mark.
func appendRecord(b []byte, i int, changed bool) []byte {
	at := mark(i, changed).Time()
	b = append(b, `{"id":`...)
	b = strconv.AppendInt(b, int64(i), 10)
	b = append(b, `,"title":"issue number `...)
	b = strconv.AppendInt(b, int64(i), 10)
	b = append(b, `","state":"open","labels":["bug","help wanted"],"amount":12.50,"body":"`...)
	b = append(b, filler...)
	b = append(b, `","changed":`...)
	b = strconv.AppendBool(b, changed)
	b = append(b, `,"updated_at":"`...)
	b = at.AppendFormat(b, time.RFC3339)
	return append(b, `"}`...)
}

func mark(i int, changed bool) syncd.Mark {
	at := epoch.Add(time.Duration(i) * time.Second)
	if changed {
		at = at.AddDate(1, 0, 0)
	}
	return syncd.At(at)
}

// A feed is which records a provider has: n of them, every nth of them changed.
type feed struct {
	n     int
	every int // 0 is none
}

func (f feed) changed(i int) bool { return f.every > 0 && i%f.every == 0 }

// page builds the records of one page in memory, as a connector without
// network would.
func (f feed) page(token string) (syncd.Page, error) {
	from, err := offset(token)
	if err != nil {
		return syncd.Page{}, err
	}
	to := min(from+pageSize, f.n)
	p := syncd.Page{Records: make([]syncd.Record, 0, to-from)}
	buffer := make([]byte, 0, (to-from)*480)
	for i := from; i < to; i++ {
		start := len(buffer)
		buffer = appendRecord(buffer, i, f.changed(i))
		p.Records = append(p.Records, syncd.Record{ID: strconv.Itoa(i), Mark: mark(i, f.changed(i)), Data: buffer[start:len(buffer):len(buffer)]})
	}
	if to < f.n {
		p.Next = strconv.Itoa(to)
	}
	return p, nil
}

func offset(token string) (int, error) {
	if token == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(token)
	if err != nil {
		return 0, fmt.Errorf("page token %q: %w", token, err)
	}
	return n, nil
}

// element is what the connector over HTTP decodes of a record.
type element struct {
	ID      syncd.ID        `json:"id"`
	Updated syncd.Timestamp `json:"updated_at"`
}

func toRecord(e element) syncd.Record {
	return syncd.Record{ID: string(e.ID), Mark: e.Updated.Mark()}
}
