package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/syncdhq/syncd/internal/config"
	"github.com/syncdhq/syncd/internal/store"
)

// takes checks that a command is given exactly the arguments named, none of
// them empty: an empty one is a variable of a script that was not set.
func takes(names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != len(names) {
			return fmt.Errorf("expected %s, got %s", or(strings.Join(names, " "), "no arguments"), count(len(args), "argument"))
		}
		return notEmpty(names, args)
	}
}

func notEmpty(names, args []string) error {
	for i, arg := range args {
		if arg == "" {
			return fmt.Errorf("%s is empty", names[i])
		}
	}
	return nil
}

// given refuses a flag that was given and is empty, for commands that would
// then do more than was meant.
func given(c *cobra.Command, flag, value string) error {
	if value == "" && c.Flags().Changed(flag) {
		return usageError{fmt.Errorf("--%s is empty", flag)}
	}
	return nil
}

// oneOf checks a flag that selects by a word.
func oneOf(flag, value string, words ...string) error {
	if value == "" || slices.Contains(words, value) {
		return nil
	}
	return usageError{fmt.Errorf("--%s %q: it is one of %s", flag, value, strings.Join(words, ", "))}
}

// A selection is the sources that a listing is about: all, those of a user or
// of a provider, or one.
type selection struct{ user, provider string }

// flags adds [USER [PROVIDER]], --user and --provider to a command.
func (s *selection) flags(a *app, c *cobra.Command) {
	c.Flags().StringVar(&s.user, "user", "", "only the sources of `USER`")
	c.Flags().StringVar(&s.provider, "provider", "", "only the sources at `PROVIDER`")
	c.Args = s.parse
	c.ValidArgsFunction = a.completeSource
	complete(c, "user", a.completeUser)
	complete(c, "provider", a.completeProvider)
}

// parse takes over the arguments [USER [PROVIDER]].
func (s *selection) parse(c *cobra.Command, args []string) error {
	if len(args) > 2 {
		return fmt.Errorf("expected [USER [PROVIDER]], got %s", count(len(args), "argument"))
	}
	for i, name := range []string{"user", "provider"} {
		given := c.Flags().Changed(name)
		to := []*string{&s.user, &s.provider}[i]
		switch {
		case i < len(args) && given:
			return fmt.Errorf("--%s and an argument both name the %s", name, name)
		case i < len(args):
			*to, given = args[i], true
		}
		if given && *to == "" {
			return fmt.Errorf("the %s is empty", name)
		}
	}
	return nil
}

func (s selection) filter() store.SourceFilter {
	return store.SourceFilter{User: s.user, Provider: s.provider}
}

// String says what is selected: " of alice github", "" for all.
func (s selection) String() string {
	switch {
	case s.user != "" && s.provider != "":
		return " of " + oneLine(s.user+" "+s.provider)
	case s.user != "":
		return " of " + oneLine(s.user)
	case s.provider != "":
		return " at " + oneLine(s.provider)
	}
	return ""
}

// configured returns the sources of the configuration by key.
func configured(cfg *config.Config) map[store.Key]*config.Source {
	all := make(map[store.Key]*config.Source, len(cfg.Sources))
	for _, s := range cfg.Sources {
		all[keyOf(s)] = s
	}
	return all
}

// unknown says what to do about a source that the store does not have. Other
// errors are returned as they are.
func unknown(cfg *config.Config, key store.Key, err error) error {
	if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if _, ok := configured(cfg)[key]; ok {
		return fmt.Errorf("source %s is in the configuration, but the store does not have it yet: the daemon adds it when it starts or reloads (syncd run)", key)
	}
	return fmt.Errorf("there is no source %s (see: syncd sources list)", key)
}

// A completion completes an argument or the value of a flag.
type completion = func(c *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective)

// complete completes the values of a flag.
func complete(c *cobra.Command, flag string, f completion) {
	// The only error is that of a flag which does not exist.
	if err := c.RegisterFlagCompletionFunc(flag, f); err != nil {
		panic(err)
	}
}

// words completes one of a few words.
func words(list ...string) completion {
	return func(_ *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var out []cobra.Completion
		for _, w := range list {
			out = appendCompletion(out, []string{begun}, w)
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeSource completes USER and then PROVIDER, from the configuration.
func (a *app) completeSource(c *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	switch len(args) {
	case 0:
		return a.completeUser(c, args, begun)
	case 1:
		return a.completeFrom(begun, func(s *config.Source) string {
			if s.User != args[0] {
				return ""
			}
			return s.Provider
		})
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

func (a *app) completeUser(_ *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.completeFrom(begun, func(s *config.Source) string { return s.User })
}

func (a *app) completeProvider(_ *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.completeFrom(begun, func(s *config.Source) string { return s.Provider })
}

// completeFrom completes what the sources of the configuration have. A
// configuration that can't be read completes nothing.
func (a *app) completeFrom(begun string, word func(*config.Source) string) ([]cobra.Completion, cobra.ShellCompDirective) {
	cfg, err := a.load()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []cobra.Completion
	for _, s := range cfg.Sources {
		out = appendCompletion(out, []string{begun}, word(s))
	}
	slices.Sort(out)
	return slices.Compact(out), cobra.ShellCompDirectiveNoFileComp
}

// appendCompletion appends the last of the words in `line` completed by the
// one in its place of `with`, if the words before it are the same. What a shell
// can't take on one line is left out.
func appendCompletion(out []cobra.Completion, line []string, with ...string) []cobra.Completion {
	last := len(line) - 1
	w := with[last]
	if w == "" || !slices.Equal(line[:last], with[:last]) || !strings.HasPrefix(w, line[last]) || strings.ContainsFunc(w, obeyed) {
		return out
	}
	return append(out, w)
}
