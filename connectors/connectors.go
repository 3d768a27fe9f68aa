// Package connectors is the list of the connectors that come with syncd.
package connectors

import (
	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/connectors/csv"
	"github.com/syncdhq/syncd/connectors/github"
	"github.com/syncdhq/syncd/connectors/googlecalendar"
	"github.com/syncdhq/syncd/connectors/notion"
	"github.com/syncdhq/syncd/connectors/rest"
	"github.com/syncdhq/syncd/connectors/sample"
	"github.com/syncdhq/syncd/connectors/shopify"
	"github.com/syncdhq/syncd/connectors/slack"
	"github.com/syncdhq/syncd/connectors/strava"
	"github.com/syncdhq/syncd/connectors/stripe"
	"github.com/syncdhq/syncd/providers"
)

// All are the connectors that come with syncd, by name. A program with
// connectors of its own appends to a copy.
var All = []syncd.Connector{
	csv.Connector(),
	providers.Connector("gitea"),
	github.Connector(),
	providers.Connector("gitlab"),
	googlecalendar.Connector(),
	providers.Connector("hacker_news"),
	providers.Connector("hubspot"),
	providers.Connector("jira"),
	providers.Connector("miniflux"),
	notion.Connector(),
	providers.Connector("pocketbase"),
	rest.Connector(),
	sample.Connector(),
	shopify.Connector(),
	slack.Connector(),
	strava.Connector(),
	stripe.Connector(),
}
