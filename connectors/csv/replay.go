package csv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/syncdhq/syncd"
)

// replay implements Stream.Replay: it reads the bytes of one row, as they were
// set aside or as they were corrected, by the columns of the options, else by
// those of the files that are there now. A line end is not needed. Bytes are in
// the file's encoding, in UTF-8 where that is decoded before it is split.
func (f *feed) replay(ctx context.Context, raw []byte) (syncd.Record, error) {
	if f.plan.KeyFrom == fromLine {
		return syncd.Record{}, errors.New("a row's line is its id (key_from: line), and its bytes do not tell it: run the feed again")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	t, err := f.header(ctx)
	if err != nil {
		return syncd.Record{}, err
	}
	if t != f.rows {
		defer t.close()
	}
	d := t.dialect
	if bytes.IndexByte(raw, d.newline) < 0 && bytes.IndexByte(raw, '\n') >= 0 {
		d.newline = '\n'
	}
	s := newSplitter(d, bytes.NewReader(raw), 0, int64(len(raw)), 1)
	sp, err := nextRow(s)
	if err == io.EOF {
		return syncd.Record{Raw: raw, Err: syncd.Reject("wrong_field_count", "there is no row")}, nil
	}
	if err != nil {
		return syncd.Record{Raw: raw, Err: &syncd.RejectError{Reason: "bare_quote", Err: err}}, nil
	}
	r := t.record(sp, 0)
	if _, err := nextRow(s); err != io.EOF {
		return syncd.Record{Raw: raw, Err: syncd.Reject("several_rows", "there is more than one row; a reject is replayed as one")}, nil
	}
	return r, nil
}

// header returns the table that rows are read by.
func (f *feed) header(ctx context.Context) (*table, error) {
	var t *table
	var err error
	switch {
	case !isURL(f.plan.Path):
		t, err = f.present(ctx)
	case len(f.plan.Columns) == 0:
		t, err = f.served(ctx)
	default:
		return f.declared()
	}
	switch {
	case err == nil:
		return t, nil
	case len(f.plan.Columns) > 0:
		return f.declared()
	}
	return nil, fmt.Errorf("the columns are not known; put the file in place, or name them (columns): %w", err)
}

// present returns the table of the files that are there.
func (f *feed) present(ctx context.Context) (*table, error) {
	ins, err := list(f.plan.Path)
	if err != nil {
		return nil, err
	}
	var first *table
	for _, in := range ins {
		t, err := openTable(ctx, in, f.plan)
		if err == nil && first == nil {
			first = t
			continue
		}
		if err == nil {
			t.close()
			if slices.Equal(t.columns, first.columns) {
				continue
			}
			err = fmt.Errorf("%s has other columns than %s, and a row's bytes do not tell which it is of", in.name, ins[0].name)
		}
		if first != nil {
			first.close()
		}
		return nil, err
	}
	if first == nil {
		return nil, fmt.Errorf("read %s: there is no file", f.plan.Path)
	}
	return first, nil
}

// served returns the table of the URL's file, downloaded once.
func (f *feed) served(ctx context.Context) (*table, error) {
	if f.rows != nil {
		return f.rows, nil
	}
	d, err := fetchURL(ctx, f.plan.client, f.plan.Path, validity{})
	if err != nil {
		return nil, err
	}
	defer d.remove() // its columns are known once it is open
	f.rows, err = openTable(ctx, &input{name: displayURL(f.plan.Path), temp: d}, f.plan)
	return f.rows, err
}

// declared returns a table of the columns that the options name, without a file.
func (f *feed) declared() (*table, error) {
	t := &table{content: &content{charset: f.plan.charset, newline: '\n', close: func() {}}, plan: f.plan, dialect: f.plan.dialect, mark: -1, gone: -1}
	t.columns, t.dialect.newline = f.plan.Columns, '\n'
	if t.charset.byBOM {
		t.charset = charset{}
	}
	return t, t.findColumns()
}
