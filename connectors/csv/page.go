package csv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/syncdhq/syncd"
)

// A page ends early at this many bytes of rows.
const maxPage = 8 << 20

// page reads one page from a position on.
func (f *feed) page(ctx context.Context, w *walk, at position) (syncd.Page, error) {
	page := syncd.Page{Fingerprint: w.sum}
	var bytes int64
	for ; at.File < len(w.inputs); at.nextFile() {
		in := w.inputs[at.File]
		t, err := f.table(ctx, w, at.File)
		if err != nil {
			return page, err
		}
		if at.Line == 0 {
			at.Offset, at.Line = t.first, t.firstLine
		}
		s := t.splitter(at.Offset, at.Line)
		for {
			if err := ctx.Err(); err != nil {
				return page, err
			}
			sp, err := nextRow(s)
			if err == io.EOF {
				break
			}
			if err != nil {
				return page, f.fault(in, err)
			}
			at.Offset, at.Line = sp.off, sp.line
			if len(page.Records) == f.plan.PageRows || bytes > maxPage {
				at.Sum = w.upTo(at.File, f.plan)
				if page.Next, err = encode(at); err == nil && in.touched() {
					err = changed(in)
				}
				return page, err
			}
			page.Records = append(page.Records, f.row(t, in, w, sp, &at, &page))
			bytes += int64(len(sp.raw))
		}
		at.Line = s.line
		if t.footer > 0 {
			page.Notes = append(page.Notes, fmt.Sprintf("%s%s at the end left out as footer", f.prefix(w, in), count(t.footer, "line")))
		}
	}
	var err error
	page.Sync, err = f.finish(ctx, w, at)
	return page, err
}

// nextFile moves behind the file that the position is in.
func (at *position) nextFile() {
	at.File, at.Before = at.File+1, at.Before+at.Line-1
	at.Offset, at.Line = 0, 0
}

// row turns a row into a record and holds a last line without line end back.
func (f *feed) row(t *table, in *input, w *walk, sp span, at *position, page *syncd.Page) syncd.Record {
	r := t.record(sp, at.Before+sp.line)
	r.Place = f.prefix(w, in) + "line " + strconv.FormatInt(sp.line, 10)
	if !sp.ended && !f.plan.AllowUnterminated {
		r.Err = syncd.Reject("unterminated_line", "line %d, the last one, has no line end, so it may have been cut (allow_unterminated)", sp.line)
		at.Held = append(slices.Clone(at.Held), at.File)
		page.Notes = append(page.Notes, fmt.Sprintf("%sline %d, the last one, is held back: it has no line end", f.prefix(w, in), sp.line))
	}
	return r
}

// prefix names the input where there are several.
func (f *feed) prefix(w *walk, in *input) string {
	if len(w.all) == 1 {
		return ""
	}
	return in.name + " "
}

// fault returns the error that reading ended with: errChanged where the input
// is not the one that the walk began with.
func (f *feed) fault(in *input, err error) error {
	if in.touched() || errors.Is(err, io.ErrUnexpectedEOF) {
		return changed(in)
	}
	return named(in, err)
}

// table returns the input opened as a table.
func (f *feed) table(ctx context.Context, w *walk, i int) (*table, error) {
	if w.table != nil && w.open == i {
		return w.table, nil
	}
	if w.table != nil {
		w.table.close()
		w.table = nil
	}
	in := w.inputs[i]
	t, err := openTable(ctx, in, f.plan)
	if in.touched() {
		if err == nil {
			t.close()
		}
		return nil, changed(in)
	}
	if err != nil {
		return nil, err
	}
	w.table, w.open = t, i
	return t, nil
}
