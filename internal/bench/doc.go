// Package bench measures the engine end to end, each number as a ratio to
// something measured in the same run: `make bench`. It holds benchmarks only.
package bench
