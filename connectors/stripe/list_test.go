package stripe

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/casebook"
)

func unix(s int64) time.Time { return time.Unix(s, 0) }

// Objects of one second, more than a page, arrive each.
func TestTiesInASecond(t *testing.T) {
	f := newFake()
	for range 20 {
		f.create("charges")
	}
	tb := newTable(stream(t, f, Options{}, "charges"))
	if err := tb.walk(t); err != nil {
		t.Fatal(err)
	}
	tb.is(t, f)
}

// A list goes on behind an element that was deleted meanwhile, without being
// read from the start again.
func TestDeletedPlace(t *testing.T) {
	for name, apart := range map[string]int64{"apart": 10, "in one second": 0} {
		t.Run(name, func(t *testing.T) {
			f := newFake()
			for range 12 {
				f.create("customers")
				f.now += apart
			}
			f.now += 24 * 3600
			s := stream(t, f, Options{}, "customers")
			seen := map[string]bool{}
			req := syncd.Request{}
			pages := 0
			for {
				page, err := s.Fetch(t.Context(), req)
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range page.Records {
					seen[r.ID] = true
				}
				if pages++; pages == 2 {
					last := page.Records[len(page.Records)-1].ID
					for _, o := range f.things["customers"] {
						if o.id == last {
							f.remove("customers", o)
							break
						}
					}
				}
				if req.Page = page.Next; req.Page == "" {
					break
				}
			}
			if len(seen) != 12 {
				t.Errorf("got %d customers, want 12", len(seen))
			}
			if apart > 0 && pages != 4 {
				t.Errorf("got %d pages, want 4", pages)
			}
		})
	}
}

// Where it is not known when the place was created, the refusal reaches the
// engine as it is: the engine drops the page token.
func TestDeletedPlaceOfUnknownTime(t *testing.T) {
	f := newFake()
	for name, page := range map[string]string{"customers": `{"head":1,"after":"cus_gone"}`, "events": `{"after":"evt_gone"}`} {
		_, err := stream(t, f, Options{}, name).Fetch(t.Context(), syncd.Request{Page: page})
		var refused *syncd.HTTPError
		if !errors.As(err, &refused) || refused.Status != 400 {
			t.Errorf("%s: got %v, want an HTTPError with 400", name, err)
		}
	}
	if _, err := stream(t, f, Options{}, "events").Fetch(t.Context(), syncd.Request{Page: "3"}); err == nil {
		t.Error("a token of another kind: got no error")
	}
}

// Events are read from Since on, which is inclusive, newest first.
func TestEvents(t *testing.T) {
	f := newFake()
	for range 4 {
		f.create("charges")
		f.create("customers")
		f.now += 60
	}
	s := stream(t, f, Options{}, "events")
	for since, want := range map[int64]int{0: 8, epoch: 8, epoch + 60: 6, epoch + 61: 4, epoch + 181: 0} {
		req := syncd.Request{}
		if since > 0 {
			req.Since = syncd.UnixSeconds(since)
		}
		seen := map[string]bool{}
		last := syncd.Mark(1 << 62)
		for more := true; more; more = req.Page != "" {
			page, err := s.Fetch(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range page.Records {
				if r.Mark > last || r.Mark == 0 {
					t.Errorf("%s is marked %v, after %v", r.ID, r.Mark, last)
				}
				last, seen[r.ID] = r.Mark, true
			}
			req.Page = page.Next
		}
		if len(seen) != want {
			t.Errorf("since %d: got %d events, want %d", since, len(seen), want)
		}
	}
}

// Elements that are not as they should be.
func TestElements(t *testing.T) {
	const list = `{"object":"list","has_more":%v,"data":[%s]}`
	for _, c := range []struct {
		stream, element string
		reason          string // why it is set aside; "" if it is not
		mark            syncd.Mark
	}{
		{stream: "charges", element: `{"id":"ch_1","created":"yesterday","livemode":7,"deleted":[]}`},
		{stream: "charges", element: `{"id":"ch_1","type":{},"data":3,"account":false}`},
		{stream: "charges", element: `{"id":{}}`, reason: "bad_external_id"},
		{stream: "charges", element: `{"id":1.5}`, reason: "bad_external_id"},
		{stream: "charges", element: `{"id":"ch_1","id":"ch_2"}`, reason: "duplicate_key"},
		{stream: "charges", element: `7`, reason: "unexpected_type"},
		{stream: "charges", element: `null`, reason: "unexpected_type"},
		{stream: "events", element: `{"id":"evt_1","created":1772366400}`, mark: syncd.UnixSeconds(1772366400)},
		{stream: "events", element: `{"id":"evt_1","created":null}`},
		{stream: "events", element: `{"id":"evt_1","created":"1772366400"}`, reason: "bad_time"},
		{stream: "events", element: `{"id":"evt_1","created":1772366400.5}`, reason: "bad_time"},
		{stream: "events", element: `{"id":"evt_1","created":-1}`, reason: "bad_time"},
	} {
		f := newFake()
		f.answer = func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != "/v1/"+c.stream {
				return false
			}
			fmt.Fprintf(w, list, true, `{"id":"good_1","created":1772366400},`+c.element)
			return true
		}
		s := stream(t, f, Options{}, c.stream)
		page, err := s.Fetch(t.Context(), syncd.Request{})
		if err != nil || len(page.Records) != 2 {
			t.Errorf("%s: got %d records, %v", c.element, len(page.Records), err)
			continue
		}
		got := page.Records[1]
		reason := ""
		if bad, ok := errors.AsType[*syncd.RejectError](got.Err); ok {
			reason = bad.Reason
		}
		if reason != c.reason || got.Mark != c.mark || string(got.Data) != c.element {
			t.Errorf("%s: got %+v, want %q and mark %d", c.element, got, c.reason, c.mark)
		}
		if after := map[bool]string{true: "good_1", false: "_1"}[strings.Contains(c.reason, "id") || c.reason == "duplicate_key" || c.reason == "unexpected_type"]; !strings.Contains(page.Next, after) {
			t.Errorf("%s: goes on with %s, want %q", c.element, page.Next, after)
		}
	}
}

// Answers that are no list are errors, and never an empty one.
func TestBadAnswers(t *testing.T) {
	for body, want := range map[string]string{
		``:                                    "empty",
		`null`:                                "not as expected",
		`{}`:                                  "not as expected",
		`{"error":{"code":"api_error"}}`:      "not as expected",
		`{"data":[]}`:                         "has_more",
		`{"data":[],"has_more":null}`:         "has_more",
		`{"data":[],"has_more":true}`:         "no element with an id",
		`{"data":[{"id":3}],"has_more":"no"}`: "not as expected",
		`{"data":[{"id":"ch_1"}],"has_mo`:     "not as expected",
		`{"data":{"id":"ch_1"}}`:              "not as expected",
	} {
		for _, name := range []string{"charges", "events"} {
			for _, at := range []string{"/v1/events", "/v1/charges"} {
				if name == "events" && at == "/v1/charges" {
					continue
				}
				f := newFake()
				f.create("charges")
				f.answer = func(w http.ResponseWriter, r *http.Request) bool {
					if r.URL.Path != at {
						return false
					}
					fmt.Fprint(w, body)
					return true
				}
				_, err := stream(t, f, Options{}, name).Fetch(t.Context(), syncd.Request{})
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s, %s is %q: got %v, want %q", name, at, body, err, want)
				}
			}
		}
	}
	f := newFake()
	f.undate = true
	if _, err := stream(t, f, Options{}, "charges").Fetch(t.Context(), syncd.Request{}); err == nil || !strings.Contains(err.Error(), "Date") {
		t.Errorf("without a Date: got %v", err)
	}
}

// Refusals say what to do, and never what signed the request.
func TestRefusals(t *testing.T) {
	for status, c := range map[int]struct{ message, want string }{
		401: {"Invalid API Key provided: swor****a1b2", "under credentials"}, // it need not look like a key
		403: {"The provided key 'rk_live_51a*********************a1b2' does not have the required permissions. Having the 'rak_event_read' permission would help.", "rak_event_read"},
		400: {"Invalid integer: x for sk_test_a1b2", "Invalid integer: x for [key]"},
		500: {"", "500"},
	} {
		f := newFake()
		f.answer = func(w http.ResponseWriter, r *http.Request) bool {
			refuse(w, status, "", "", c.message)
			return true
		}
		_, err := stream(t, f, Options{}, "charges").Fetch(t.Context(), syncd.Request{})
		var refused *syncd.HTTPError
		switch {
		case !errors.As(err, &refused) || refused.Status != status:
			t.Errorf("%d: got %v, want an HTTPError", status, err)
		case !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "a1b2"):
			t.Errorf("%d: got %v, want %q", status, err, c.want)
		}
	}
}

// The connected account is named in each request, the version too.
func TestHeaders(t *testing.T) {
	f := newFake()
	o := f.create("charges")
	f.now += 24 * 3600
	tb := newTable(stream(t, f, Options{Account: "acct_1Ab"}, "charges"))
	for range 2 {
		if err := tb.walk(t); err != nil {
			t.Fatal(err)
		}
		f.change("charges", o)
		f.events[len(f.events)-1].account = "acct_1Ab"
	}
	if err := tb.walk(t); err != nil {
		t.Fatal(err)
	}
	tb.is(t, f)
	for _, r := range f.asked {
		if got, want := r.Header.Get("Stripe-Account")+" "+r.Header.Get("Stripe-Version"), "acct_1Ab "+version; got != want {
			t.Errorf("%s: got %q, want %q", r.URL, got, want)
		}
	}
}

// A key of the other mode than the one chosen ends the walk.
func TestMode(t *testing.T) {
	for mode, fails := range map[string]bool{"": false, "test": false, "live": true} {
		f := newFake()
		f.create("charges")
		for _, name := range []string{"charges", "events"} {
			_, err := stream(t, f, Options{Mode: mode}, name).Fetch(t.Context(), syncd.Request{})
			if (err != nil) != fails || fails && !strings.Contains(err.Error(), "test mode") {
				t.Errorf("%s, mode %q: got %v", name, mode, err)
			}
		}
	}
}

func TestOptions(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string // the option that is wrong
		n    int
	}{
		{o: Options{}, n: 5},
		{o: Options{Only: []string{"events", "charges"}}, n: 2},
		{o: Options{Only: []string{"payouts"}}, want: "streams"},
		{o: Options{Account: "acct_1Ab2"}, n: 5},
		{o: Options{Account: "acct_"}, want: "account"},
		{o: Options{Account: "acct_1\nX-Key: 2"}, want: "account"},
		{o: Options{Account: "1Ab2"}, want: "account"},
		{o: Options{Mode: "live"}, n: 5},
		{o: Options{Mode: "sandbox"}, want: "mode"},
	} {
		got := ""
		list, err := c.o.Streams(nil)
		if bad, ok := errors.AsType[*syncd.OptionError](err); ok {
			got = bad.Option
		}
		if got != c.want || len(list) != c.n {
			t.Errorf("%+v: got %d streams, %v, want %d and the option %q", c.o, len(list), err, c.n, c.want)
		}
	}
}

// The objects of Stripe's own description.
func TestStripesObjects(t *testing.T) {
	raw, err := os.ReadFile(casebook.Shared(t, "data", "stripe-openapi", "fixtures3.json"))
	if err != nil {
		t.Fatal(err)
	}
	var fixtures struct {
		Resources map[string]json.RawMessage `json:"resources"`
	}
	if err := json.Unmarshal(raw, &fixtures); err != nil {
		t.Fatal(err)
	}
	for _, k := range kinds() {
		of := fixtures.Resources[k.object]
		var want struct {
			ID      string `json:"id"`
			Object  string `json:"object"`
			Created int64  `json:"created"`
		}
		if err := json.Unmarshal(of, &want); err != nil || want.Object != k.object {
			t.Fatalf("%s: got object %q, %v", k.name, want.Object, err)
		}
		f := newFake()
		f.answer = func(w http.ResponseWriter, r *http.Request) bool {
			switch r.URL.Path {
			case "/v1/" + k.name:
				fmt.Fprintf(w, `{"object":"list","has_more":true,"data":[%s]}`, of)
			case "/v1/" + k.name + "/" + want.ID:
				w.Write(of)
			default:
				return false
			}
			return true
		}
		s := stream(t, f, Options{Mode: "test"}, k.name)
		page, err := s.Fetch(t.Context(), syncd.Request{})
		if err != nil || len(page.Records) != 1 {
			t.Fatalf("%s: got %d records, %v", k.name, len(page.Records), err)
		}
		if r := page.Records[0]; r.ID != want.ID || r.Err != nil || r.Deleted || string(r.Data) != string(of) {
			t.Errorf("%s: got %+v", k.name, r)
		}
		if place := fmt.Sprintf(`"after":%q,"at":%d`, want.ID, want.Created); !strings.Contains(page.Next, place) {
			t.Errorf("%s: goes on with %s, want %s", k.name, page.Next, place)
		}
		// And as events tell of them.
		f.tell(k.types[0], string(of))
		page, err = s.Fetch(t.Context(), syncd.Request{Sync: fmt.Sprint(f.now)})
		if err != nil || len(page.Records) != 1 || page.Records[0].ID != want.ID || string(page.Records[0].Data) != string(of) {
			t.Errorf("%s, told by an event: got %+v, %v", k.name, page, err)
		}
	}
	about := map[string][]string{
		"charges": {"charge", "dispute", "refund", "review"}, "customers": {"customer", "discount", "tax_id"},
		"invoices": {"invoice", "credit_note", "invoice_payment"}, "subscriptions": {"subscription"},
	}
	for name, objects := range about {
		for _, object := range objects {
			s := source{api: &api{}, kind: kindOf(name)}
			c, err := s.change(element{Data: json.RawMessage(`{"object":` + string(fixtures.Resources[object]) + `}`)})
			if err != nil || c.id == "" {
				t.Errorf("an event with a %s tells of no one of %s: %v", object, name, err)
			}
		}
	}
	r, err := stream(t, newFake(), Options{}, "customers").Replay(t.Context(), fixtures.Resources["deleted_customer"])
	if err != nil || !r.Deleted || r.ID == "" {
		t.Errorf("a deleted customer: got %+v, %v", r, err)
	}
}
