package csv

import (
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/syncdhq/syncd"
)

// A download is the whole body of a URL's answer, in a file of its own.
type download struct {
	file     *os.File
	remove   func()
	validity validity
}

// A validity is what a server gives to ask it later whether a body still is
// what it sends (RFC 9110, 13.1).
type validity struct {
	URL  string `json:"url,omitempty"` // a hash of the URL it is for, which may hold a secret
	ETag string `json:"etag,omitempty"`
	Date string `json:"date,omitempty"` // Last-Modified
}

// fetchURL downloads the feed's URL to its end. Where since is of the same URL,
// a body that did not change is ErrNotModified.
func fetchURL(ctx context.Context, c *syncd.Client, path string, since validity) (*download, error) {
	header := http.Header{"Accept": {"text/csv, text/plain;q=0.9, */*;q=0.5"}}
	if since.URL == urlHash(path) {
		if since.ETag != "" {
			header.Set("If-None-Match", since.ETag)
		} else if since.Date != "" {
			header.Set("If-Modified-Since", since.Date)
		}
	}
	resp, err := c.Open(ctx, "", header)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	d := &download{validity: validityOf(path, resp.Header)}
	if d.file, d.remove, err = spool(); err != nil {
		return nil, err
	}
	if err := d.save(ctx, resp); err != nil {
		d.remove()
		return nil, fmt.Errorf("read %s: %w", displayURL(path), err)
	}
	return d, nil
}

func (d *download) save(ctx context.Context, resp *http.Response) error {
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the answer is %d %s, which holds no whole file", resp.StatusCode, http.StatusText(resp.StatusCode))
	}
	if kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err == nil && kind == "text/html" {
		return fmt.Errorf("the answer is an HTML page")
	}
	counted := &counter{r: reader{ctx, resp.Body}}
	body := io.Reader(counted)
	switch coding := strings.ToLower(resp.Header.Get("Content-Encoding")); coding {
	case "", "identity":
	case "gzip", "x-gzip":
		z, err := gzip.NewReader(counted)
		if err != nil {
			return fmt.Errorf("gzip: %w", err)
		}
		body = z
	default:
		return fmt.Errorf("the answer's Content-Encoding is %q", coding)
	}
	if _, err := io.Copy(d.file, body); err != nil {
		return err
	}
	if resp.ContentLength >= 0 && counted.n != resp.ContentLength {
		return fmt.Errorf("the answer has %d bytes of %d", counted.n, resp.ContentLength)
	}
	return nil
}

// validityOf takes the ETag, else Last-Modified where the file was at rest for
// a minute when it was sent: its seconds can't tell two writes in one apart.
func validityOf(path string, h http.Header) validity {
	v := validity{URL: urlHash(path), ETag: h.Get("ETag")}
	if v.ETag == "" {
		date, err1 := http.ParseTime(h.Get("Date"))
		changed, err2 := http.ParseTime(h.Get("Last-Modified"))
		if err1 == nil && err2 == nil && date.Sub(changed) >= time.Minute {
			v.Date = h.Get("Last-Modified")
		}
	}
	if v.ETag == "" && v.Date == "" {
		return validity{}
	}
	return v
}

func urlHash(path string) string {
	sum := sha256.Sum256([]byte(path))
	return hex.EncodeToString(sum[:16])
}

// displayURL spells a URL without its query and user, which may hold secrets.
func displayURL(path string) string {
	u, err := url.Parse(path)
	if err != nil {
		return "the URL"
	}
	return u.Scheme + "://" + u.Host + u.EscapedPath()
}

type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}
