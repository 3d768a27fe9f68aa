package oauth

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestDeviceFlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		polls := 0
		c := client(func(req *http.Request, form url.Values) (int, string, string) {
			if req.URL.Path == "/device" {
				return 200, "application/json", `{"device_code":"canary-device","user_code":"ABCD","verification_uri":"https://auth.test/enter","expires_in":600,"interval":5}`
			}
			switch polls++; polls {
			case 1:
				return 400, "application/json", `{"error":"authorization_pending"}`
			case 2:
				return 400, "application/json", `{"error":"slow_down"}`
			}
			return 200, "application/json", `{"access_token":"A","refresh_token":"R","expires_in":60}`
		})
		began := time.Now()
		d, err := c.Device(t.Context())
		if err != nil || d.UserCode != "ABCD" || d.URL != "https://auth.test/enter" {
			t.Fatal(d, err)
		}
		got, err := c.Await(t.Context(), d)
		if err != nil || got.Refresh.Reveal() != "R" || polls != 3 || time.Since(began) < 15*time.Second {
			t.Errorf("got %v, %v after %d polls and %s", got, err, polls, time.Since(began))
		}
	})
}

// What goes wrong while a user enters a code.
func TestDeviceFlowTroubles(t *testing.T) {
	grant := `{"access_token":"A","refresh_token":"R","expires_in":60}`
	for name, c := range map[string]struct {
		device string
		answer func(poll int) (int, string) // 0: no answer
		want   string                       // of the error; "" is a grant
	}{
		"a code as Google has it": {`{"device_code":"D","user_code":"U","verification_url":"https://auth.test/enter","expires_in":"600","interval":5}`,
			func(int) (int, string) { return 200, grant }, ""},
		"null":    {`null`, nil, "the answer is neither JSON nor a form"},
		"no code": {`{}`, nil, "the answer holds no device_code, user_code and verification_uri"},
		"refused": {"", func(int) (int, string) { return 400, `{"error":"access_denied"}` }, "access was refused"},
		"expired": {"", func(int) (int, string) { return 400, `{"error":"expired_token"}` }, "the code was not entered in time"},
		"never":   {"", func(int) (int, string) { return 400, `{"error":"authorization_pending"}` }, "the code was not entered in time"},
		"a server that is away for a while": {"", func(poll int) (int, string) {
			return []int{503, 429, 0, 200}[min(poll, 4)-1], grant
		}, ""},
		"another registration": {"", func(int) (int, string) { return 401, `{"error":"invalid_client"}` }, "the app's registration is refused"},
		"no end is said": {`{"device_code":"D","user_code":"U","verification_uri":"https://auth.test/enter"}`,
			func(int) (int, string) { return 400, `{"error":"authorization_pending"}` }, "the code was not entered in time"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				polls := 0
				cl := client(func(req *http.Request, _ url.Values) (int, string, string) {
					if req.URL.Path == "/device" {
						return 200, "application/json", cmp.Or(c.device, `{"device_code":"D","user_code":"U","verification_uri":"https://auth.test/enter","expires_in":600,"interval":5}`)
					}
					polls++
					status, body := c.answer(polls)
					if status == 0 {
						<-req.Context().Done()
						status = 504
					}
					return status, "application/json", body
				})
				d, err := cl.Device(t.Context())
				if err == nil {
					_, err = cl.Await(t.Context(), d)
				}
				if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want %q", err, c.want)
				}
			})
		})
	}
}
