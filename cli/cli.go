// Package cli is the whole program as one call: flags, configuration, wiring.
// A program with connectors of its own is a main that calls Main with its list.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/internal/config"

	_ "time/tzdata" // schedules have time zones, and not every system has their rules
)

// Exit codes, of every command.
const (
	exitDone     = 0
	exitFailed   = 1
	exitUsage    = 2 // the command or the configuration is wrong
	exitRejected = 3 // done, but records were rejected
)

// errRejected ends a command that did its work but set records aside.
var errRejected = errors.New("records were rejected")

// errSilent ends a command that has said itself what went wrong.
var errSilent = errors.New("failed")

// A usageError says that the command line is wrong.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// Main runs the program with the given connectors and exits.
func Main(connectors []syncd.Connector) {
	log.SetOutput(io.Discard) // net/http writes what odd providers send there
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal ends the process at once
	code := Run(ctx, connectors, os.Args[1:], Streams{os.Stdin, os.Stdout, os.Stderr})
	stop()
	os.Exit(code)
}

// Streams are what a command reads from and writes to.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Run runs one command line and returns its exit code. Cancelling ctx stops
// what the command does as SIGTERM would.
func Run(ctx context.Context, connectors []syncd.Connector, args []string, s Streams) int {
	a := &app{Streams: s, env: os.LookupEnv}
	var err error
	if a.connectors, err = config.Expand(connectors); err != nil {
		return a.exit(err)
	}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	return a.exit(root.ExecuteContext(ctx))
}

// exit says what went wrong and returns the exit code for it.
func (a *app) exit(err error) int {
	var wrong config.Errors
	var usage usageError
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errRejected):
		return exitRejected
	case errors.Is(err, errSilent):
		return exitFailed
	case errors.As(err, &wrong):
		fmt.Fprintln(a.Err, block(wrong.Error(), ""))
		return exitUsage
	case errors.As(err, &usage):
		fmt.Fprintf(a.Err, "syncd: %s\n", block(err.Error(), ""))
		return exitUsage
	}
	fmt.Fprintf(a.Err, "syncd: %s\n", block(err.Error(), ""))
	return exitFailed
}

// root returns the command tree.
func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "syncd",
		Short: "Keep every user's data from every provider in your own database",
		Long: `syncd keeps every user's data from every provider that they connected in your
own database: on schedule, within rate limits, each record there once.`,
		Example: `  syncd run --config config.example.yaml     start the daemon
  syncd check                                look the configuration over
  syncd sync alice github                    bring one source up to date now
  syncd status                               what is late, and what is failing
  syncd rejects list                         records that could not be ingested`,
		SilenceErrors: true,

		SuggestionsMinimumDistance: 2,
		SilenceUsage:               true,
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w (see: %s --help)", err, c.CommandPath())}
	})
	root.PersistentFlags().StringVarP(&a.configPath, "config", "c", "", "configuration `file` (default $SYNCD_CONFIG, then "+systemConfig()+")")
	for _, make := range a.commands() {
		root.AddCommand(make())
	}
	a.completions(root)
	root.InitDefaultHelpCmd()
	strict(root)
	return root
}

// strict makes wrong arguments and unknown commands a usage error, everywhere
// in the tree. A command that only has others under it shows its help.
func strict(c *cobra.Command) {
	check := c.Args
	if !c.Runnable() {
		check = noSuchCommand
		c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	}
	c.Args = func(c *cobra.Command, args []string) error {
		if check == nil {
			return nil
		}
		if err := check(c, args); err != nil {
			return usageError{fmt.Errorf("%w (see: %s --help)", err, c.CommandPath())}
		}
		return nil
	}
	for _, sub := range c.Commands() {
		strict(sub)
	}
}

// noSuchCommand refuses arguments of a command that has only others under it.
func noSuchCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if like := c.SuggestionsFor(args[0]); len(like) > 0 {
		return fmt.Errorf("unknown command %q: did you mean %s?", args[0], strings.Join(like, " or "))
	}
	return fmt.Errorf("unknown command %q", args[0])
}
