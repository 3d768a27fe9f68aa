package connectortest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/recording"
)

type plainOptions struct {
	trim bool
}

type plain struct {
	ID syncd.ID `json:"id"`
	At int64    `json:"at"`
}

func (o *plainOptions) Streams(c *syncd.Client) ([]syncd.Stream, error) {
	return []syncd.Stream{{Name: "things", Fetch: func(ctx context.Context, req syncd.Request) (syncd.Page, error) {
		resp, err := c.Get(ctx, "/things", url.Values{"page": {req.Page}})
		if err != nil {
			return syncd.Page{}, err
		}
		records, err := syncd.Decode(resp.Body, "things", func(v plain) syncd.Record {
			return syncd.Record{ID: string(v.ID), Mark: syncd.UnixSeconds(v.At)}
		})
		if err != nil {
			return syncd.Page{}, err
		}
		if o.trim {
			records = records[1:]
		}
		next, err := syncd.Token(resp.Body, "next")
		return syncd.Page{Records: records, Next: next}, err
	}}}, nil
}

// canned answers with two pages, of which the second has a bad element.
type canned struct{}

func (canned) RoundTrip(req *http.Request) (*http.Response, error) {
	body := `{"things":[{"id":1,"at":100},{"id":2,"at":200}],"next":"p2"}`
	if req.URL.Query().Get("page") == "p2" {
		body = `{"things":[{"id":3,"at":300},{"id":null}]}`
	}
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: req}, nil
}

// record makes a recording of the canned provider.
func record(t *testing.T) string {
	t.Helper()
	r, err := recording.NewRecorder("http://provider.test", nil)
	if err != nil {
		t.Fatal(err)
	}
	rt := r.Around(canned{})
	client, err := syncd.NewClient("http://provider.test", rt, rt)
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range []string{"", "p2"} {
		if _, err := client.Get(t.Context(), "/things", url.Values{"page": {page}}); err != nil {
			t.Fatal(err)
		}
	}
	name := filepath.Join(t.TempDir(), "things.json")
	f, err := recording.Create(name, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Write(func(w io.Writer) error { return r.Write(w) }); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestReplay(t *testing.T) {
	file := record(t)
	s := Subject{
		Connector: syncd.Connector{Name: "plain"},
		Options:   func() syncd.Options { return &plainOptions{} },
	}
	t.Setenv(updateVariable, "1")
	Replay(t, s, file)
	t.Setenv(updateVariable, "")
	Replay(t, s, file)

	golden, err := os.ReadFile(file + ".golden")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(golden)), "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[0], "things/1 1970-01-01T00:01:40Z ") || !strings.HasPrefix(lines[3], `set aside: things "" missing_external_id `) {
		t.Errorf("the golden file is %q", lines)
	}

	s.Options = func() syncd.Options { return &plainOptions{trim: true} }
	got, unused, err := s.replay(t.Context(), file)
	if err != nil || len(unused) > 0 {
		t.Fatalf("unused %q, %v", unused, err)
	}
	want := []string{"the golden file has, and the connector no longer makes: " + lines[0], "the golden file has, and the connector no longer makes: " + lines[2]}
	if diff := differences(string(golden), got); !slices.Equal(diff, want) {
		t.Errorf("got %q, want %q", diff, want)
	}
	if diff := differences(got, string(golden)); len(diff) != 2 || !strings.HasPrefix(diff[0], "the connector makes, and the golden file does not have: things/1") {
		t.Errorf("the other way round: %q", diff)
	}
}

func TestReplayOfLessThanWasRecorded(t *testing.T) {
	file := record(t)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	short := strings.Replace(string(text), `\"next\":\"p2\"`, `\"next\":null`, 1)
	if short == string(text) || !json.Valid([]byte(short)) {
		t.Fatalf("the recording is %s", text)
	}
	if err := os.WriteFile(file, []byte(short), 0o666); err != nil {
		t.Fatal(err)
	}
	s := Subject{Connector: syncd.Connector{Name: "plain"}, Options: func() syncd.Options { return &plainOptions{} }}
	if _, unused, err := s.replay(t.Context(), file); err != nil || fmt.Sprint(unused) != "[GET /things?page=p2]" {
		t.Errorf("unused %q, %v", unused, err)
	}
}
