package pgtest

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
)

// An account is whom the server runs as.
type account struct {
	name     string
	uid, gid int
}

// serverAccount returns whom the server must run as: nil for ourselves, unless
// we are root, as which PostgreSQL refuses to run.
func serverAccount() (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		if u, err = user.Lookup("nobody"); err != nil {
			return nil, fmt.Errorf("run PostgreSQL as another user than root: %w", err)
		}
	}
	who := &account{name: u.Username}
	if who.uid, err = strconv.Atoi(u.Uid); err != nil {
		return nil, fmt.Errorf("user %s: %w", u.Username, err)
	}
	if who.gid, err = strconv.Atoi(u.Gid); err != nil {
		return nil, fmt.Errorf("user %s: %w", u.Username, err)
	}
	return who, nil
}
