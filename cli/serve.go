package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/syncdhq/syncd"
)

func (a *app) connectorsServe() *cobra.Command {
	listen := "127.0.0.1:8500"
	c := &cobra.Command{
		Use:   "serve NAME",
		Short: "Serve a connector's stand-in, to practise on",
		Long: `Serve the stand-in that a connector has for its provider, until Ctrl-C. It is an
API to practise on: pages, limits and faults included.`,
		Example: `  syncd connectors serve sample
  curl 'http://127.0.0.1:8500/v1/customers?account=me'`,
		Args: takes("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.serveStandIn(c.Context(), args[0], listen)
		},
	}
	c.Flags().StringVar(&listen, "listen", listen, "the `address` to serve on")
	return c
}

func (a *app) serveStandIn(ctx context.Context, name, listen string) error {
	var connector *syncd.Connector
	var can []string
	for i, c := range a.connectors {
		if c.Demo == nil {
			continue
		}
		can = append(can, c.Name)
		if c.Name == name {
			connector = &a.connectors[i]
		}
	}
	if connector == nil {
		return usageError{fmt.Errorf("the connector %s has no stand-in: there is one of %s", name, or(strings.Join(can, ", "), "none"))}
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return fmt.Errorf("serve the stand-in of %s: %w", name, err)
	}
	server := &http.Server{Handler: connector.Demo(), ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	context.AfterFunc(ctx, func() { server.Close() })
	fmt.Fprintf(a.Out, "serving %s on http://%s (Ctrl-C ends it)\n", name, l.Addr())
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
