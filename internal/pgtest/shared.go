package pgtest

import (
	"os"
	"strings"
	"sync"
)

// shared is the server behind [Database]: one for all tests of the process.
// Nothing stops it but the end of the process.
var shared sharedServer

type sharedServer struct {
	once    sync.Once
	cluster *Cluster // held, because the pipe that it holds keeps the server alive
	admin   string
	err     error
}

// url returns the URL of a database from which others can be created.
func (s *sharedServer) url() (string, error) {
	s.once.Do(func() {
		if given := os.Getenv("SYNCD_TEST_POSTGRES"); given != "" {
			s.admin = adminURL(given)
			return
		}
		if s.cluster, s.err = Open(Options{}); s.err == nil {
			s.admin = s.cluster.DSN("postgres")
		}
	})
	return s.admin, s.err
}

// adminURL reads SYNCD_TEST_POSTGRES: a DSN, or the directory of a socket.
func adminURL(given string) string {
	if strings.HasPrefix(given, "/") {
		return socketURL(given, defaultPort, "postgres")
	}
	return given
}
