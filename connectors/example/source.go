package example

import "embed"

// Source is the source code of this connector, for `syncd connectors new`: the
// connector and its test in Go, and the same as a provider file.
//
//go:embed example.go example_test.go example.yaml
var Source embed.FS
