package outside

import (
	"net/http"
	"os/exec"
	"testing"
)

// A StripeMockServer is Stripe's own mock of its API.
type StripeMockServer struct {
	Server
	Key string // Authorization: Bearer KEY; any key that begins with sk_test_ will do
}

// StripeMock starts a stripe-mock, which ends with the test.
//
// It is made from Stripe's published description (https://github.com/stripe/stripe-mock),
// keeps nothing, and answers every request that Stripe would take with an example:
//
//	{"data":[{"api_version":null,"created":1234567890,"data":{"object":{...}},
//	  "id":"evt_1Pgc76B7WZ01zgkWwyRHS12y","livemode":false,"object":"event","pending_webhooks":0,
//	  "request":{"id":null,"idempotency_key":null},"type":"plan.created"}],
//	 "has_more":false,"object":"list","url":"/v1/events"}
//
// So it proves that requests are well formed, and that answers of Stripe's shape
// are understood; not that pages are walked, for there is always one:
//
//   - A list has one element whatever limit= says, and has_more is false. The element
//     does not change, created is 1234567890, and a filter filters nothing.
//   - A parameter that Stripe does not have is status 400 (page=2: "additional properties are
//     not allowed"), and so is a value of another type. An unknown path is 404.
//   - A body is a form (url.Values), and its type must be given: JSON is 400.
//   - Ids in a path come back in the answer.
//   - A key that does not begin with sk_test_ is 401: {"error":{"message":"Please
//     authenticate by ...","type":"invalid_request_error"}}.
func StripeMock(tb testing.TB) *StripeMockServer {
	tb.Helper()
	program := stripemock.need(tb)
	s := &StripeMockServer{Key: "sk_test_123"}
	address := serve(tb, service{name: "stripe-mock", dir: tb.TempDir(), health: "/", command: func(address string) *exec.Cmd {
		return exec.Command(program, "-http-addr", address)
	}})
	s.Server = newServer(tb, address)
	s.sign = func(req *http.Request) { req.Header.Set("Authorization", "Bearer "+s.Key) }
	return s
}
