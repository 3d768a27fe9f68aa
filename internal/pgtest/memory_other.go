//go:build !linux

package pgtest

// memory returns "": systems other than Linux have no folder in memory that is always there.
func memory() string { return "" }
