//go:build unix

package pgtest

import "syscall"

// detached starts a process in a session of its own, as somebody else if who is not nil.
func detached(who *account) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true}
	if who != nil {
		attr.Credential = &syscall.Credential{Uid: uint32(who.uid), Gid: uint32(who.gid)}
	}
	return attr
}
