package csv

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/syncdhq/syncd"
)

// A plan is checked options.
type plan struct {
	Options
	client  *syncd.Client // of a URL
	charset charset       // as declared
	dialect dialect       // before the file has its say; newline and width are the file's
	zone    *time.Location
	gone    map[string]bool // values of the delete column
	reading string          // a hash of all that decides how bytes become records
}

var streamName = regexp.MustCompile(`^[a-z0-9_]+$`)

// plan checks the options, each error an *syncd.OptionError.
func (o *Options) plan() (*plan, error) {
	p := &plan{Options: *o, gone: map[string]bool{}}
	for _, check := range []func() error{p.checkInput, p.checkKey, p.checkText, p.checkMark} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	for _, v := range o.DeleteValues {
		p.gone[v] = true
	}
	p.reading = o.reading()
	return p, nil
}

func (p *plan) checkInput() error {
	switch {
	case p.Path == "":
		return syncd.BadOption("path", "expected a file, a glob, a folder or a URL")
	case !streamName.MatchString(p.Stream):
		return syncd.BadOption("stream", "%q: expected lower case letters, digits and underscores", p.Stream)
	case p.PageRows < 1 || p.PageRows > 100_000:
		return syncd.BadOption("page_rows", "%d: expected 1 to 100000", p.PageRows)
	case p.MaxRow < 1 || p.MaxRow > 64<<20:
		return syncd.BadOption("max_row", "%d: expected 1 to %d bytes", p.MaxRow, 64<<20)
	case p.SkipLines < 0:
		return syncd.BadOption("skip_lines", "%d: expected a number of lines", p.SkipLines)
	case p.FooterLines < 0 || p.FooterLines > 1000:
		return syncd.BadOption("footer_lines", "%d: expected 0 to 1000", p.FooterLines)
	}
	return nil
}

func (p *plan) checkKey() error {
	switch p.KeyFrom {
	case fromColumns:
		if len(p.Key) == 0 {
			return syncd.BadOption("key", "expected the column that identifies a row, or key_from: content or line")
		}
	case fromContent, fromLine:
		if len(p.Key) > 0 {
			return syncd.BadOption("key", "key_from: %s takes no key", p.KeyFrom)
		}
		if p.KeyFrom == fromLine && !p.Listing {
			return syncd.BadOption("key_from", "with listing: false a line number would mean another row in every file")
		}
	default:
		return syncd.BadOption("key_from", "%q: expected columns, content or line", p.KeyFrom)
	}
	seen := map[string]bool{}
	for _, k := range p.Key {
		if seen[k] {
			return syncd.BadOption("key", "%q is there twice", k)
		}
		seen[k] = true
	}
	seen = map[string]bool{}
	for _, c := range p.Columns {
		if seen[c] {
			return syncd.BadOption("columns", "%q is there twice", c)
		}
		seen[c] = true
	}
	return nil
}

// checkText checks the charset and the dialect.
func (p *plan) checkText() error {
	var err error
	if p.charset, err = charsetOf(p.Encoding); err != nil {
		return &syncd.OptionError{Option: "encoding", Err: err}
	}
	d := dialect{maxRow: p.MaxRow}
	switch {
	case len(p.Quote) == 1 && p.Quote[0] > ' ' && p.Quote[0] < 0x7f:
		d.quote = p.Quote[0]
	case p.Quote != "":
		return syncd.BadOption("quote", "%q: expected one ASCII character, or nothing", p.Quote)
	}
	delimiter := p.Delimiter
	if strings.EqualFold(delimiter, "tab") || delimiter == `\t` {
		delimiter = "\t"
	}
	if d.delimiter, err = p.delimiter(delimiter); err != nil {
		return &syncd.OptionError{Option: "delimiter", Err: err}
	}
	if d.comment, err = p.charset.bytesOf(p.Comment); err != nil {
		return &syncd.OptionError{Option: "comment", Err: err}
	}
	if len(d.comment) > 0 && (bytes.HasPrefix(d.comment, d.delimiter) || d.comment[0] == d.quote || strings.ContainsAny(p.Comment, "\r\n")) {
		return syncd.BadOption("comment", "%q is a row's beginning as well", p.Comment)
	}
	p.dialect = d
	return nil
}

func (p *plan) delimiter(text string) ([]byte, error) {
	if text == "" || strings.ContainsAny(text, "\r\n\x00") || p.Quote != "" && strings.Contains(text, p.Quote) {
		return nil, fmt.Errorf("%q: expected a character other than the quote and line ends", text)
	}
	return p.charset.bytesOf(text)
}

func (p *plan) checkMark() error {
	if p.Mark == "" {
		if p.MarkFormat != "" {
			return syncd.BadOption("mark_format", "there is no mark")
		}
	}
	if p.Zone != "" {
		zone, err := time.LoadLocation(p.Zone)
		if err != nil || p.Zone == "Local" {
			return syncd.BadOption("zone", "%q is not a zone such as Europe/Berlin", p.Zone)
		}
		p.zone = zone
	}
	switch f := p.MarkFormat; f {
	case "", "integer", "unix", "unix_ms":
	default:
		if strings.Contains(f, "MST") {
			return syncd.BadOption("mark_format", "MST: an abbreviation does not say which zone; use -0700 or set zone")
		}
		if !strings.Contains(f, "06") {
			return syncd.BadOption("mark_format", "%q: expected integer, unix, unix_ms or a layout such as 2006-01-02 15:04:05", f)
		}
		if !strings.Contains(f, "Z07") && !strings.Contains(f, "-07") && p.zone == nil {
			return syncd.BadOption("zone", "the times of mark_format %q have no offset: say which zone they are in", f)
		}
	}
	return nil
}

// display spells the path without what may be secret in a URL.
func (p *plan) display() string {
	if isURL(p.Path) {
		return displayURL(p.Path)
	}
	return p.Path
}

// reading is a hash of the options that decide how bytes become records, as
// far as they are not the defaults, so that a new option changes nothing.
func (o *Options) reading() string {
	own, usual := reflect.ValueOf(*o), reflect.ValueOf(*Defaults())
	sum := sha256.New()
	for i := range own.NumField() {
		name := own.Type().Field(i).Name
		switch name {
		case "Path", "Stream", "PageRows", "AllowEmpty":
			continue
		}
		if !reflect.DeepEqual(own.Field(i).Interface(), usual.Field(i).Interface()) {
			fmt.Fprintf(sum, "%s=%#v\n", name, own.Field(i).Interface())
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}
