//go:build unix

package cli

import (
	"os"
	"syscall"
)

// hangup is the signal to read the configuration again.
var hangup os.Signal = syscall.SIGHUP
