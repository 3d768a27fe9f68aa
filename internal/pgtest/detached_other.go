//go:build !unix

package pgtest

import "syscall"

// detached changes nothing here: without a Unix shell there is no supervisor,
// and newestBinaries has said so before.
func detached(*account) *syscall.SysProcAttr { return nil }
