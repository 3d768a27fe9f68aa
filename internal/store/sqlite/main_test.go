package sqlite

import (
	"os"
	"testing"
)

// childFile, if it is set, makes this program a daemon that writes pages into
// the file until it is killed: see TestKill.
const childFile = "SYNCD_TEST_CHILD_FILE"

func TestMain(m *testing.M) {
	if path := os.Getenv(childFile); path != "" {
		os.Exit(writePages(path))
	}
	os.Exit(m.Run())
}
