package providers_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/syncdhq/syncd/connectortest"
	"github.com/syncdhq/syncd/internal/cursor"
)

func TestSuiteOfHubSpot(t *testing.T) {
	facts := connectortest.Facts{Grain: time.Millisecond}
	connectortest.Run(t, connectortest.Subject{
		Connector: connector(t, "hubspot"),
		Fake:      fakeHubSpot,
		Streams:   map[string]connectortest.Facts{"contacts": facts, "companies": facts, "deals": facts},
	})
}

// A hubspotSearch is the body of a search.
type hubspotSearch struct {
	After        string
	Limit        int
	Properties   []string
	Sorts        []struct{ PropertyName, Direction string }
	FilterGroups []struct {
		Filters []struct{ PropertyName, Operator, Value string }
	}
}

// keeps reports whether an item meets a search's filters, of which it knows two.
func (s hubspotSearch) keeps(it connectortest.Item, modified string) (keep, known bool) {
	keep = true
	for _, group := range s.FilterGroups {
		for _, f := range group.Filters {
			value, err := strconv.ParseInt(f.Value, 10, 64)
			switch {
			case err != nil:
				return false, false
			case f.PropertyName == modified && f.Operator == "GTE":
				keep = keep && it.Changed.UnixMilli() >= value
			case f.PropertyName == "hs_object_id" && f.Operator == "GT":
				keep = keep && numeric(it) > value
			default:
				return false, false
			}
		}
	}
	return keep, len(s.FilterGroups) == 1 && len(s.Sorts) == 1 && s.Sorts[0].PropertyName == "hs_object_id" && s.Sorts[0].Direction == "ASCENDING"
}

// fakeHubSpot answers searches in the order of ids.
func fakeHubSpot(w *connectortest.World) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /crm/v3/objects/{object}/search", func(rw http.ResponseWriter, r *http.Request) {
		object, modified := r.PathValue("object"), "hs_lastmodifieddate"
		if object == "contacts" {
			modified = "lastmodifieddate"
		}
		var s hubspotSearch
		err := json.NewDecoder(r.Body).Decode(&s)
		items := w.Items(object, "")
		slices.SortFunc(items, func(a, b connectortest.Item) int { return cmp.Compare(numeric(a), numeric(b)) })
		_, known := s.keeps(connectortest.Item{}, modified)
		if err != nil || !known || s.After != "" || !slices.Contains(s.Properties, modified) {
			http.Error(rw, `{"status":"error"}`, 400)
			return
		}
		items = slices.DeleteFunc(items, func(it connectortest.Item) bool { keep, _ := s.keeps(it, modified); return !keep })
		page, next := connectortest.Cut(items, 0, w.Limit(strconv.Itoa(s.Limit)))
		paging := ""
		if next > 0 {
			paging = fmt.Sprintf(`,"paging":{"next":{"after":"%d"}}`, next)
		}
		fmt.Fprintf(rw, `{"total":%d,"results":%s%s}`, len(items), w.Elements(page, func(it connectortest.Item) string {
			return fmt.Sprintf(`{"id":%q,"properties":{%q:%q,"rev":"%d"},"archived":false}`, it.ID, modified, it.Changed.UTC().Format("2006-01-02T15:04:05.000Z"), it.Rev)
		}), paging)
	})
	return mux
}

func TestRequestsOfHubSpot(t *testing.T) {
	for stream, modified := range map[string]string{"contacts": "lastmodifieddate", "companies": "hs_lastmodifieddate", "deals": "hs_lastmodifieddate"} {
		answers := []string{
			`{"total":3,"results":[{"id":"7","properties":{"M":"2026-05-01T10:00:00.123Z"}},{"id":"12","properties":{"M":"2026-05-01T09:00:00Z"}}],"paging":{"next":{"after":"2"}}}`,
			`{"total":1,"results":[{"id":"31","properties":{"M":"2026-05-01T09:30:00Z"}}]}`,
			`{"total":0,"results":[]}`,
		}
		w := &wire{answer: func(*http.Request) (string, int) {
			next := answers[0]
			answers = answers[1:]
			return strings.ReplaceAll(next, "M", modified), 200
		}}
		o := with(connector(t, "hubspot"), map[string]string{"contact_properties": "email", "company_properties": "email", "deal_properties": "email"})()
		s := w.streams(t, o)[stream]
		search := func(filters string) string {
			return compact(t, "POST /crm/v3/objects/"+stream+"/search ", `{"limit":200,"properties":["email","`+modified+`"],`+
				`"sorts":[{"propertyName":"hs_object_id","direction":"ASCENDING"}],"filterGroups":[{"filters":[`+filters+`]}]}`)
		}
		first, state := w.walk(t, s, "", cursor.State{})
		later, _ := w.walk(t, s, "", state)
		var got []string
		for _, line := range append(first, later...) {
			before, body, _ := strings.Cut(line, "{")
			got = append(got, compact(t, before, "{"+body))
		}
		since := time.Date(2026, 5, 1, 8, 0, 0, 123_000_000, time.UTC).UnixMilli() // two hours before the newest
		want := []string{
			search(`{"propertyName":"hs_object_id","operator":"GT","value":"0"}`),
			search(`{"propertyName":"hs_object_id","operator":"GT","value":"12"}`),
			search(fmt.Sprintf(`{"propertyName":%q,"operator":"GTE","value":"%d"},{"propertyName":"hs_object_id","operator":"GT","value":"0"}`, modified, since)),
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", stream, diff)
		}
	}
}

// compact takes the white space out of a JSON text.
func compact(t *testing.T, before, text string) string {
	t.Helper()
	var v json.RawMessage
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return before + string(b)
}
