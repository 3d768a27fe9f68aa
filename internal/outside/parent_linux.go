package outside

import "syscall"

// endWithParent has the kernel kill the process when the thread that started
// it ends, and so when our process does, in whatever way.
func endWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
