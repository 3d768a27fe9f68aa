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
		Use:   "connectors",
		Short: "Show what can be read, and how to configure it",
		Example: `  syncd connectors list
  syncd connectors show csv`,
	}
	c.AddCommand(a.connectorsList(), a.connectorsShow(), a.connectorsTry(), a.connectorsNew(), a.connectorsServe())
	return c
}

// A connectorRow is a connector for programs.
type connectorRow struct {
	Connector   string      `json:"connector"`
	Summary     string      `json:"summary"`
	BaseURL     string      `json:"base_url,omitempty"`
	Auth        string      `json:"auth"`
	Credentials []string    `json:"credentials"`
	Optional    bool        `json:"credentials_optional"`
	Rate        string      `json:"rate,omitempty"`
	UserRate    string      `json:"user_rate,omitempty"`
	Streams     []streamRow `json:"streams,omitempty"` // with the default options, if those are enough
	Options     []optionRow `json:"options"`
	YAML        string      `json:"yaml"`           // a configuration to start from
	File        string      `json:"file,omitempty"` // the provider file that it is made of
}

type streamRow struct {
	Stream string `json:"stream"`
	Reads  string `json:"reads"`
}

type optionRow struct {
	Option  string `json:"option"`
	Type    string `json:"type"`
	Default string `json:"default,omitempty"`
	Doc     string `json:"doc,omitempty"`
}

func connectorRowOf(c syncd.Connector) connectorRow {
	r := connectorRow{
		Connector: c.Name, Summary: c.Summary, BaseURL: c.BaseURL, Auth: or(string(c.Auth.Scheme), "none"),
		Credentials: credentialKeys(c.Auth), Optional: c.Auth.Optional,
		Rate: limitText(c.Rate.App), UserRate: limitText(c.Rate.User), Options: []optionRow{},
	}
	for _, o := range config.Describe(c) {
		r.Options = append(r.Options, optionRow{o.Key, o.Type, o.Default, o.Doc})
	}
	r.File = string(c.File)
	if c.Options != nil {
		streams, err := streamsOf(&config.Source{Options: c.Options()})
		for _, s := range streams {
			if err == nil { // else the default options are not enough
				r.Streams = append(r.Streams, streamRow{s.Name, reads(s)})
			}
		}
	}
	r.YAML = snippet(r, c)
	return r
}

// reads says how a stream is read.
func reads(s syncd.Stream) string {
	said := map[syncd.Order]string{
		syncd.Ascending: "what changed, oldest first", syncd.Descending: "what changed, newest first", syncd.Unordered: "in any order",
	}[s.Order]
	if s.Snapshot {
		said += ", always all of it"
	}
	if s.Append {
		said += ", records never change"
	}
	if s.Parts != nil {
		said += ", part by part"
	}
	return said
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
	said := fmt.Sprintf("%s per %s", count(l.Requests, "request"), span(l.Per))
	if l.Burst > 1 {
		said += fmt.Sprintf(", %d at once", l.Burst)
	}
	return said
}

func (a *app) connectorsList() *cobra.Command {
	var l listing
	c := &cobra.Command{
		Use:   "list",
		Short: "List the connectors of this program",
		Example: `  syncd connectors list
  syncd connectors list -o json`,
		Args: takes(),
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
		Use:   "show CONNECTOR",
		Short: "Show a connector's options and a configuration to start from",
		Example: `  syncd connectors show github
  syncd connectors show csv -o json`,
		Args: takes("CONNECTOR"),
		ValidArgsFunction: func(c *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return words(a.connectorNames()...)(c, args, begun)
		},
		RunE: func(_ *cobra.Command, args []string) error {
			for _, c := range a.connectors {
				if c.Name == args[0] {
					row := connectorRowOf(c)
					return out.print(a.Out, row, func(w io.Writer) { printConnector(w, row) })
				}
			}
			return usageError{fmt.Errorf("there is no connector %q: there is %s", args[0], strings.Join(a.connectorNames(), ", "))}
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
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(w, "%-12s%s\n", name, value)
		}
	}
	auth := r.Auth
	if len(r.Credentials) > 0 {
		auth += ", credentials: " + strings.Join(r.Credentials, ", ")
	}
	if r.Optional {
		auth += " (may be left out)"
	}
	line("asks", r.BaseURL)
	line("auth", auth)
	line("rate", r.Rate)
	line("per user", r.UserRate)
	for i, s := range r.Streams {
		name := "streams"
		if i > 0 {
			name = ""
		}
		fmt.Fprintf(w, "%-12s%s: %s\n", name, s.Stream, s.Reads)
	}
	if r.File != "" {
		printFile(w, r)
		return
	}
	fmt.Fprintln(w, "\nOptions, of a provider or of a source:")
	for _, o := range r.Options {
		def := ""
		if o.Default != "" {
			def = ", default " + o.Default
		}
		fmt.Fprintf(w, "  %s (%s%s)\n%s", o.Option, o.Type, def, wrap(o.Doc, "      ", 88))
	}
	if len(r.Options) == 0 {
		fmt.Fprintln(w, "  none")
	}
	fmt.Fprintf(w, "\nA configuration to start from:\n\n%s", r.YAML)
}

// printFile shows a connector that is a provider file.
func printFile(w io.Writer, r connectorRow) {
	fmt.Fprintf(w, "\nA configuration to start from:\n\n%s", r.YAML)
	fmt.Fprintf(w, "\nThe provider file that it is made of (its keys can be set again under options:, see syncd connectors show rest):\n\n%s", r.File)
}

// wrap breaks a text into lines of at most width characters where it can.
func wrap(text, indent string, width int) string {
	var b strings.Builder
	length := 0
	for _, word := range strings.Fields(text) {
		if length > 0 && length+1+len(word) > width {
			b.WriteString("\n")
			length = 0
		}
		if length == 0 {
			b.WriteString(indent + word)
			length = len(indent) + len(word)
			continue
		}
		b.WriteString(" " + word)
		length += 1 + len(word)
	}
	if length > 0 {
		b.WriteString("\n")
	}
	return b.String()
}

// exampleOf returns what a connector's options would begin with, "" if they do not say.
func exampleOf(c syncd.Connector) string {
	if c.Options == nil {
		return ""
	}
	if e, ok := c.Options().(syncd.Exampler); ok {
		return e.Example()
	}
	return ""
}

// indent puts spaces before each line of a text.
func indent(text, by string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(by + line)
	}
	return b.String()
}

// snippet is a configuration with the connector, but for its store. What may be
// left out is commented out.
func snippet(r connectorRow, c syncd.Connector) string {
	var b strings.Builder
	fmt.Fprintf(&b, "providers:\n  %s:\n    connector: %s\n    schedule: \"*/15 * * * *\"\n    timezone: UTC\n", r.Connector, r.Connector)
	if c.File != nil && c.BaseURL == "" {
		fmt.Fprintln(&b, "    base_url: https://your-server.example.com")
	}
	options, example := r.Options, exampleOf(c)
	if example != "" || c.File != nil {
		options = nil
	}
	if example != "" {
		fmt.Fprintf(&b, "    options:\n%s", indent(example, "      "))
	}
	fmt.Fprintf(&b, "sources:\n  - user: alice\n    provider: %s\n", r.Connector)
	first := true
	for _, o := range options {
		if o.Default != "" || o.Type == "true or false" || o.Type == "whole number" {
			continue
		}
		if first {
			fmt.Fprintln(&b, "    # options:             # these have no default")
			first = false
		}
		fmt.Fprintf(&b, "    #   %s: ...\n", o.Option)
	}
	if len(r.Credentials) == 0 {
		return b.String()
	}
	var pairs []string
	for _, key := range r.Credentials {
		stem := strings.ToUpper(strings.ReplaceAll(r.Connector, "-", "_"))
		pairs = append(pairs, fmt.Sprintf("%s: \"${%s_%s}\"", key, stem, strings.ToUpper(key)))
	}
	comment := ""
	if r.Optional {
		comment = "# "
	}
	fmt.Fprintf(&b, "    %scredentials: { %s }\n", comment, strings.Join(pairs, ", "))
	return b.String()
}
