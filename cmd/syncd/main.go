// Command syncd keeps every user's data from every provider that they connected
// in your own database.
package main

import (
	"github.com/syncdhq/syncd/cli"
	"github.com/syncdhq/syncd/connectors"
)

func main() { cli.Main(connectors.All) }
