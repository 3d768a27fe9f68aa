package github

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/casebook"
)

// An exchange is a request to GitHub and its answer, as octokit/fixtures
// recorded them.
type exchange struct {
	Method   string
	Path     string
	Status   int
	Headers  []string        `json:"rawHeaders"`
	Response json.RawMessage // the body as the recording spells it
}

func recording(t *testing.T, name string) []exchange {
	t.Helper()
	text, err := os.ReadFile(casebook.Shared(t, "data", "github-octokit-fixtures", name))
	if err != nil {
		t.Fatal(err)
	}
	var all []exchange
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// replay serves recorded answers by path and page number, since the recorded
// queries differ from this connector's in everything else.
func replay(exchanges []exchange, alias string) http.Handler {
	key := func(u *url.URL) string {
		page := u.Query().Get("page")
		if page == "" {
			page = "1"
		}
		return u.Path + " " + page
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, e := range exchanges {
			u, err := url.Parse(e.Path)
			if err != nil || e.Method != "get" {
				continue
			}
			if alias != "" && strings.HasPrefix(u.Path, "/repos/") && strings.HasSuffix(u.Path, "/issues") {
				u.Path = alias // the first page was asked for by name
			}
			if key(u) != key(r.URL) {
				continue
			}
			for i := 0; i+1 < len(e.Headers); i += 2 {
				if name := e.Headers[i]; name != "Content-Length" {
					w.Header().Add(name, e.Headers[i+1])
				}
			}
			w.WriteHeader(e.Status)
			w.Write(e.Response)
			return
		}
		http.Error(w, fmt.Sprintf("%s was not recorded", r.URL), http.StatusTeapot)
	})
}

// All issues on the five recorded pages arrive, in the order and with the bytes
// of the recording, by following GitHub's own Link headers. Filters and order
// are not asserted here: the recording was made without them.
func TestRecordedPages(t *testing.T) {
	exchanges := recording(t, "paginate-issues.raw.json")
	var want []string
	for _, e := range exchanges {
		if e.Method != "get" {
			continue
		}
		var elements []json.RawMessage
		if err := json.Unmarshal(e.Response, &elements); err != nil {
			t.Fatal(err)
		}
		for _, raw := range elements {
			want = append(want, string(raw))
		}
	}
	if len(want) != 13 {
		t.Fatalf("the recording has %d issues, want 13", len(want))
	}
	s := streams(t, newClient(t, Connector().BaseURL, replay(exchanges, "/repositories/515435940/issues")), Options{Repo: "o/n"})["issues"]
	var got []string
	pages := 0
	for req := (syncd.Request{Part: "515435940"}); ; pages++ {
		page := fetch(t, s, req)
		for _, r := range page.Records {
			var e struct{ ID json.Number }
			if err := json.Unmarshal(r.Data, &e); err != nil || r.Err != nil || r.ID != e.ID.String() || r.Mark == 0 {
				t.Errorf("record %q of mark %d: %v, %v", r.ID, r.Mark, r.Err, err)
			}
			got = append(got, string(r.Data))
		}
		if page.Next == "" {
			break
		}
		req.Page = page.Next
	}
	if pages != 4 || !slices.Equal(got, want) {
		t.Errorf("got %d issues on %d pages, want the %d recorded ones on 5", len(got), pages+1, len(want))
	}
}

// A repository asked for under its old name is found by its id.
func TestRecordedRename(t *testing.T) {
	exchanges := recording(t, "rename-repository.raw.json")
	old := strings.TrimPrefix(exchanges[1].Path, "/repos/")
	s := streams(t, newClient(t, Connector().BaseURL, replay(exchanges, "")), Options{Repo: old})["issues"]
	got, err := s.Parts(t.Context())
	if err != nil || !slices.Equal(got, []string{"515436299"}) {
		t.Errorf("%s: got %v, %v, want 515436299", old, got, err)
	}
}

func TestRecordedRepository(t *testing.T) {
	s := streams(t, newClient(t, Connector().BaseURL, replay(recording(t, "get-repository.raw.json"), "")), Options{Repo: "octokit-fixture-org/hello-world"})["issues"]
	got, err := s.Parts(t.Context())
	if err != nil || len(got) != 1 || !digits.MatchString(got[0]) {
		t.Errorf("got %v, %v, want one id", got, err)
	}
}
