package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/syncdhq/syncd/internal/account"
	"github.com/syncdhq/syncd/internal/config"
	"github.com/syncdhq/syncd/internal/vault"
)

// askKeys asks for what a user gives, and keeps it if the provider takes it.
func (a *app) askKeys(ctx context.Context, f *fleet, src *config.Source) error {
	given := map[string]vault.Secret{}
	in := bufio.NewReader(a.In)
	for _, name := range wayOf(src.Of).fields() {
		value, err := a.ask(in, fmt.Sprintf("The %s of %s", name, keyOf(src)), name != "username")
		if err != nil {
			return err
		}
		if given[name] = vault.NewSecret(value); value == "" && name != "password" {
			return usageError{fmt.Errorf("there is no %s: give it on standard input, each in a line of its own (%s)", name, strings.Join(wayOf(src.Of).fields(), ", "))}
		}
	}
	return f.connected(ctx, src, account.Connection{Secrets: given})
}

// ask reads a line. On a terminal it says what for, and shows nothing of a secret.
func (a *app) ask(in *bufio.Reader, what string, secret bool) (string, error) {
	terminal, ok := a.In.(*os.File)
	if isTerminal(a.In) && ok {
		if secret {
			fmt.Fprintf(a.Err, "%s (it is not shown): ", oneLine(what))
			line, err := term.ReadPassword(int(terminal.Fd()))
			fmt.Fprintln(a.Err)
			return strings.TrimSpace(string(line)), err
		}
		fmt.Fprintf(a.Err, "%s: ", oneLine(what))
	}
	line, err := in.ReadString('\n')
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return strings.TrimSpace(line), err
}

// sure asks whether something is to be deleted. Where nobody can answer, the
// error says how to say so beforehand.
func (a *app) sure(what string) error {
	if !isTerminal(a.In) {
		return usageError{fmt.Errorf("this would delete %s, for good: say --yes if that is meant", what)}
	}
	fmt.Fprintf(a.Err, "Delete %s, for good? [y/N] ", what)
	answer, err := bufio.NewReader(a.In).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return errors.New("nothing was deleted")
}
