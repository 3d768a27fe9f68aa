package outside

import (
	"net/url"
	"testing"
)

func TestStripeMock(t *testing.T) {
	t.Parallel()
	s := StripeMock(t)
	customer := s.Call(t, "POST", "/v1/customers", url.Values{"name": {"Jenny Rosen"}}).Object(t)
	if got, want := customer.Text("object"), "customer"; got != want {
		t.Errorf("created: got a %q, want a %q", got, want)
	}
	id := customer.Text("id")
	changed := s.Call(t, "POST", "/v1/customers/"+id, url.Values{"name": {"Jane Rosen"}}).Object(t)
	if got, want := changed.Text("id")+" "+changed.Text("name"), id+" Jane Rosen"; got != want {
		t.Errorf("changed: got %q, want %q", got, want)
	}
	list := s.Call(t, "GET", "/v1/customers?limit=2", nil).Object(t)
	if got, want := len(list.Objects(t, "data")), 1; got != want {
		t.Errorf("listed: got %d, want %d", got, want)
	}
	if got, want := list.Text("has_more"), "false"; got != want {
		t.Errorf("has_more: got %s, want %s", got, want)
	}
	if got, want := s.Call(t, "DELETE", "/v1/customers/"+id, nil).Object(t).Text("deleted"), "true"; got != want {
		t.Errorf("deleted: got %s, want %s", got, want)
	}
	// It keeps nothing.
	if got, want := len(s.Call(t, "GET", "/v1/customers", nil).Object(t).Objects(t, "data")), 1; got != want {
		t.Errorf("listed after the deletion: got %d, want %d", got, want)
	}
}

// It answers with examples, but it takes no request that Stripe would not.
func TestStripeMockRefuses(t *testing.T) {
	t.Parallel()
	s := StripeMock(t)
	for _, test := range []struct {
		path string
		want int
	}{
		{"/v1/charges?limit=100&starting_after=ch_1&created%5Bgte%5D=1700000000&expand%5B%5D=data.customer", 200},
		{"/v1/charges?limit=x", 400},
		{"/v1/charges?page=2", 400},
		{"/v1/charge", 404},
	} {
		if got := s.Ask(t, "GET", test.path, nil).Status; got != test.want {
			t.Errorf("%s: got status %d, want %d", test.path, got, test.want)
		}
	}
	if got, want := s.Ask(t, "POST", "/v1/customers", map[string]string{"name": "Jenny Rosen"}).Status, 400; got != want {
		t.Errorf("a body of JSON: got status %d, want %d", got, want)
	}
	for _, test := range []struct {
		authorization string
		want          int
	}{
		{"Bearer sk_test_anything", 200},
		{"Bearer sk_live_anything", 401},
		{"Bearer nonsense", 401},
	} {
		if got := s.AskAs(t, "Authorization", test.authorization, "GET", "/v1/charges", nil).Status; got != test.want {
			t.Errorf("%s: got status %d, want %d", test.authorization, got, test.want)
		}
	}
}
