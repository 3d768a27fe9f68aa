package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/config"
)

func (a *app) connectorsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "connectors",
		Short:   "Show what can be read, and how to configure it",
		Example: "  syncd connectors list\n  syncd connectors show csv",
	}
	c.AddCommand(a.connectorsList(), a.connectorsShow())
	return c
}

// A connectorRow is a connector for programs.
type connectorRow struct {
	Connector   string          `json:"connector"`
	Summary     string          `json:"summary"`
	BaseURL     string          `json:"base_url,omitempty"`
	Auth        string          `json:"auth"`
	Credentials []string        `json:"credentials"`
	Optional    bool            `json:"credentials_optional"`
	Rate        string          `json:"rate,omitempty"`
	UserRate    string          `json:"user_rate,omitempty"`
	Options     []config.Option `json:"options"`
}

func connectorRowOf(c syncd.Connector) connectorRow {
	return connectorRow{
		Connector: c.Name, Summary: c.Summary, BaseURL: c.BaseURL, Auth: or(string(c.Auth.Scheme), "none"),
		Credentials: credentialKeys(c.Auth), Optional: c.Auth.Optional,
		Rate: limitText(c.Rate.App), UserRate: limitText(c.Rate.User), Options: config.Describe(c),
	}
}

// credentialKeys are the keys that a scheme takes from `credentials:`.
func credentialKeys(a syncd.Auth) []string {
	switch a.Scheme {
	case syncd.NoAuth:
		return []string{}
	case syncd.Basic:
		return []string{"username", "password"}
	}
	return []string{"token"}
}

func limitText(l syncd.Limit) string {
	if l.Requests == 0 {
		return ""
	}
	return fmt.Sprintf("%d requests per %s", l.Requests, l.Per)
}

func (a *app) connectorsList() *cobra.Command {
	var l listing
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the connectors of this program",
		Example: "  syncd connectors list",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return list(&l, a.Out, each(a.connectors), func(c syncd.Connector) any { return connectorRowOf(c) }, "no connector",
				column[syncd.Connector]{"CONNECTOR", func(c syncd.Connector) string { return c.Name }},
				column[syncd.Connector]{"AUTH", func(c syncd.Connector) string { return or(string(c.Auth.Scheme), "none") }},
				column[syncd.Connector]{"READS", func(c syncd.Connector) string { return c.Summary }},
			)
		},
	}
	l.flags(c)
	return c
}

func (a *app) connectorsShow() *cobra.Command {
	var out output
	c := &cobra.Command{
		Use:     "show CONNECTOR",
		Short:   "Show a connector's options and a configuration to start from",
		Example: "  syncd connectors show github",
		Args:    takes("CONNECTOR"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return a.connectorNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			for _, c := range a.connectors {
				if c.Name == args[0] {
					row := connectorRowOf(c)
					return out.print(a.Out, row, func(w io.Writer) { printConnector(w, row) })
				}
			}
			return fmt.Errorf("there is no connector %q: there is %s", args[0], strings.Join(a.connectorNames(), ", "))
		},
	}
	out.flag(c)
	return c
}

func (a *app) connectorNames() []string {
	names := make([]string, len(a.connectors))
	for i, c := range a.connectors {
		names[i] = c.Name
	}
	return names
}

func printConnector(w io.Writer, r connectorRow) {
	fmt.Fprintf(w, "%s: %s\n\n", r.Connector, r.Summary)
	if r.BaseURL != "" {
		fmt.Fprintf(w, "asks         %s\n", r.BaseURL)
	}
	auth := r.Auth
	if len(r.Credentials) > 0 {
		auth += ", credentials: " + strings.Join(r.Credentials, ", ")
	}
	if r.Optional {
		auth += " (may be left out)"
	}
	fmt.Fprintf(w, "auth         %s\n", auth)
	if r.Rate != "" {
		fmt.Fprintf(w, "rate         %s\n", r.Rate)
	}
	if r.UserRate != "" {
		fmt.Fprintf(w, "per user     %s\n", r.UserRate)
	}
	fmt.Fprintln(w, "\noptions:")
	for _, o := range r.Options {
		def := ""
		if o.Default != "" {
			def = ", default " + o.Default
		}
		fmt.Fprintf(w, "  %s (%s%s)\n", o.Key, o.Type, def)
		if o.Doc != "" {
			fmt.Fprintf(w, "      %s\n", o.Doc)
		}
	}
	fmt.Fprintf(w, "\nto start from:\n%s", snippet(r))
}

// snippet is a configuration with the connector.
func snippet(r connectorRow) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  providers:\n    %s:\n      connector: %s\n      schedule: \"@hourly\"\n", r.Connector, r.Connector)
	fmt.Fprintf(&b, "  sources:\n    - user: alice\n      provider: %s\n      options: {}\n", r.Connector)
	if len(r.Credentials) > 0 {
		var pairs []string
		for _, key := range r.Credentials {
			pairs = append(pairs, fmt.Sprintf("%s: \"${%s_%s}\"", key, strings.ToUpper(r.Connector), strings.ToUpper(key)))
		}
		fmt.Fprintf(&b, "      credentials: { %s }\n", strings.Join(pairs, ", "))
	}
	return b.String()
}
