package example

import (
	"testing"

	"github.com/syncdhq/syncd"
	"github.com/syncdhq/syncd/connectors/rest"
	"github.com/syncdhq/syncd/connectortest"
	"github.com/syncdhq/syncd/internal/config"
)

// The provider file reads the same help desk.
func TestSuiteOfTheProviderFile(t *testing.T) {
	data, err := Source.ReadFile("example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.FromFile("example.yaml", data, []syncd.Connector{rest.Connector()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	connectortest.Run(t, connectortest.Subject{
		Connector: c,
		Fake:      fake,
		Streams:   map[string]connectortest.Facts{"tickets": {Deletions: connectortest.Told}},
	})
}
