package strava

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/syncdhq/syncd"
)

func TestBadAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		status     int
		body       string
		activities string // the error
		athlete    string
	}{
		"not allowed":  {401, `{"message":"Authorization Error","errors":[{"resource":"AccessToken","field":"activity:read_permission","code":"missing"}]}`, "the user has not allowed this", "the user has not allowed this"},
		"expired":      {401, `{"message":"Authorization Error","errors":[{"resource":"Athlete","field":"access_token","code":"invalid"}]}`, "has expired", "has expired"},
		"inactive":     {403, `{"message":"Forbidden"}`, "refuses the application", "refuses the application"},
		"throttled":    {429, `{"message":"Rate Limit Exceeded"}`, "429", "429"},
		"an error":     {200, `{"message":"Record Not Found","errors":[]}`, "the answer is not as expected", "no object with an id"},
		"empty":        {200, "", "empty", "not as expected"},
		"cut":          {200, `[{"id":1`, "not as expected", "not as expected"},
		"a list":       {200, `[]`, "", "no object with an id"},
		"null":         {200, `null`, "", "no object with an id"},
		"two values":   {200, `{"id":1},{"id":2}`, "not as expected", "not as expected"},
		"HTML":         {200, `<html>`, "not as expected", "not as expected"},
		"of long past": {200, `[{"id":1,"start_date":"2020-01-01T00:00:00Z"}]`, "asked for what started after 2026-05-27T20:26:39Z, got one of 2020-01-01T00:00:00Z", "no object with an id"},
	} {
		t.Run(name, func(t *testing.T) {
			streams := open(t, &Options{}, func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(c.status)
				io.WriteString(w, c.body)
			})
			for stream, want := range map[string]string{"activities": c.activities, "athlete": c.athlete} {
				page, err := streams[stream].Fetch(t.Context(), syncd.Request{Sync: "1780000000"})
				switch {
				case want == "" && err != nil:
					t.Errorf("%s: %v", stream, err)
				case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
					t.Errorf("%s: got %+v, %v; want %q", stream, page, err, want)
				case c.status != 200:
					if refused, ok := errors.AsType[*syncd.HTTPError](err); !ok || refused.Status != c.status {
						t.Errorf("%s: %v hides the answer", stream, err)
					}
				}
			}
		})
	}
}

func TestOptions(t *testing.T) {
	for _, c := range []struct {
		o     Options
		want  []string // the streams, or
		wrong string   // the option
	}{
		{o: Options{}, want: []string{"activities", "athlete"}},
		{o: Options{Lookback: 36500, Only: []string{"athlete"}}, want: []string{"athlete"}},
		{o: Options{Only: []string{"gear"}}, wrong: "streams"},
		{o: Options{Lookback: -1}, wrong: "lookback"},
		{o: Options{Lookback: 36501}, wrong: "lookback"},
	} {
		list, err := c.o.Streams(nil)
		var got []string
		for _, s := range list {
			got = append(got, s.Name)
		}
		wrong := ""
		if bad, ok := errors.AsType[*syncd.OptionError](err); ok {
			wrong = bad.Option
		}
		if !slices.Equal(got, c.want) || wrong != c.wrong {
			t.Errorf("%+v: got %v, %v", c.o, got, err)
		}
	}
}
