//go:build unix

package outside

import (
	"os"
	"syscall"
)

// ownGroup starts a process as the first of a process group.
func ownGroup() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true}
	endWithParent(attr)
	return attr
}

// killGroup ends the process that was started as the first of its group, and
// whatever it started. A group that is gone already is fine.
func killGroup(first *os.Process) {
	_ = syscall.Kill(-first.Pid, syscall.SIGKILL)
}
