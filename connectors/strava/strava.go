// Package strava reads an athlete's activities from Strava.
package strava

import (
	"time"

	"github.com/syncdhq/syncd"
)

// Connector returns the connector.
//
// Limits are the application's, over all its users: 100 requests that read in
// 15 minutes and 1,000 a day, unless Strava has granted more
// (https://developers.strava.com/docs/rate-limits/). Quota knows by the answers
// when they are used up, and when there is more.
func Connector() syncd.Connector {
	return syncd.Connector{
		Name:    "strava",
		Summary: "an athlete's activities on Strava, and the athlete",
		BaseURL: "https://www.strava.com/api/v3",
		Auth:    syncd.Auth{Scheme: syncd.OAuth2, OAuth: consent()},
		Rate: syncd.Rate{
			App:   syncd.Limit{Requests: 100, Per: 15 * time.Minute, Burst: 20},
			Quota: quota,
		},
		Options: func() syncd.Options { return &Options{Lookback: 30} },
	}
}

// consent is where and how users connect, by
// https://developers.strava.com/docs/authentication/. Scopes are joined by
// commas there, so that they are one here. Access tokens last six hours.
func consent() *syncd.OAuth {
	return &syncd.OAuth{
		AuthURL:  "https://www.strava.com/oauth/authorize",
		TokenURL: "https://www.strava.com/api/v3/oauth/token",
		// "Deauthorization": https://developers.strava.com/docs/authentication/#deauthorization
		RevokeURL: "https://www.strava.com/oauth/deauthorize", RevokeParam: "access_token",
		Scopes: []string{"activity:read_all,profile:read_all"},
		Params: map[string]string{"approval_prompt": "auto"},
	}
}

// Options choose the streams, and how far back each walk looks.
type Options struct {
	Lookback int      `yaml:"lookback" settings:"-" doc:"how many days before the newest activity are read again in each run, for what was changed or uploaded late"`
	Only     []string `yaml:"streams" settings:"-" doc:"the streams to read, of activities and athlete; without it, both"`
}

// maxLookback is a hundred years: whatever is above it is a mistake.
const maxLookback = 36500

// Streams implements syncd.Options.
func (o *Options) Streams(c *syncd.Client) ([]syncd.Stream, error) {
	if o.Lookback < 0 || o.Lookback > maxLookback {
		return nil, syncd.BadOption("lookback", "%d is not a number of days from 0 to %d", o.Lookback, maxLookback)
	}
	a := activities{c, int64(o.Lookback) * day}
	all := []syncd.Stream{
		{Name: "activities", Fetch: a.fetch, Replay: syncd.Replay(activity.record)},
		{Name: "athlete", Snapshot: true, Fetch: owner{c}.fetch, Replay: syncd.Replay(athlete.record)},
	}
	return syncd.Choose(all, o.Only)
}
