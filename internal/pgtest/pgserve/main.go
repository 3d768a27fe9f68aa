// Pgserve runs a throw-away PostgreSQL for the test script: it prints the URL
// of a database in it, and stops it when its input ends or a signal comes. It
// exits with status 3 where there is no PostgreSQL to run.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/syncdhq/syncd/internal/pgtest"
)

func main() {
	err := serve()
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "pgserve:", err)
	if errors.Is(err, pgtest.ErrNoBinaries) {
		os.Exit(3)
	}
	os.Exit(1)
}

func serve() error {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	cluster, err := pgtest.Open(pgtest.Options{})
	if err != nil {
		return err
	}
	fmt.Println(cluster.DSN("postgres"))

	ended := make(chan struct{})
	go func() {
		defer close(ended)
		// How the input ends makes no difference: nobody is there any more.
		_, _ = io.Copy(io.Discard, os.Stdin)
	}()
	select {
	case <-stop:
	case <-ended:
	}
	return cluster.Stop()
}
