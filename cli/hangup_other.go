//go:build !unix

package cli

import "os"

// hangup is nil: this system has no such signal.
var hangup os.Signal
