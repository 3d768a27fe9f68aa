// Package providers holds the provider files that come with syncd: connectors
// written in YAML, which the connector rest reads.
package providers

import (
	"embed"
	"fmt"

	"github.com/syncdhq/syncd"
)

//go:embed *.yaml
var files embed.FS

// Connector returns the connector that the provider file NAME.yaml describes.
// A name without a file is a mistake in the program, and panics.
func Connector(name string) syncd.Connector {
	data, err := files.ReadFile(name + ".yaml")
	if err != nil {
		panic(fmt.Sprintf("providers: no file %s.yaml", name))
	}
	return syncd.Connector{Name: name, File: data}
}
