package outside

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// An NginxConfig is what an nginx serves, and how often. Its zero value
// answers 404 to everything, without a limit.
type NginxConfig struct {
	Files      map[string]string // by path below the root, such as "orders.json"; .json files are application/json
	Proxy      string            // the URL of a server that answers what is no file; "" for 404
	Rate       string            // how often one client may ask, such as "1r/s" or "30r/m"; "" for no limit
	Burst      int               // how many requests more than that are let through at once
	RetryAfter string            // the value of Retry-After in a 429; "" sends none, as nginx does of itself
	Directives string            // more for the server block
}

// An NginxServer is an nginx of one process.
type NginxServer struct {
	Server
}

// Nginx starts an nginx, which ends with the test.
//
// What connectors must stand, as the tests of this file show:
//
//   - A limit (https://nginx.org/en/docs/http/ngx_http_limit_req_module.html) has no
//     memory of more than Burst: "1r/s" refuses the second request of a second even
//     after an hour of silence, and "60r/m" is the same.
//   - The body of its 429, as of its 404 and 502, is HTML, whatever the API is:
//     <html>\r\n<head><title>429 Too Many Requests</title></head> ...
//   - It has no Retry-After unless the configuration adds one, which is then the same
//     number of seconds every time.
//   - A file answers with any query: page=2 of a static list is page 1 once more.
//     It has ETag and Last-Modified, and If-None-Match is answered 304.
func Nginx(tb testing.TB, config NginxConfig) *NginxServer {
	tb.Helper()
	program, err := nginx()
	if err != nil {
		giveUp(tb, err)
	}
	dir := tb.TempDir()
	root := filepath.Join(dir, "files")
	if err := os.Mkdir(root, 0o755); err != nil {
		tb.Fatal(err)
	}
	for name, content := range config.Files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	address := serve(tb, service{name: "nginx", dir: dir, health: nginxReady, command: func(address string) *exec.Cmd {
		file := filepath.Join(dir, "nginx.conf")
		if err := os.WriteFile(file, []byte(config.text(dir, root, address)), 0o644); err != nil {
			tb.Fatal(err)
		}
		return exec.Command(program, "-p", dir, "-c", file)
	}})
	return &NginxServer{newServer(tb, address)}
}

// nginxReady is a path without a limit.
const nginxReady = "/.ready"

// text writes the configuration file. The server is one process: there is
// nothing that could outlive it.
func (c NginxConfig) text(dir, root, address string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `daemon off;
master_process off;
pid %[1]q;
error_log stderr info;
events { }
http {
	access_log off;
	client_body_temp_path %[2]q;
	proxy_temp_path %[3]q;
	fastcgi_temp_path %[4]q;
	uwsgi_temp_path %[5]q;
	scgi_temp_path %[6]q;
	types { application/json json; text/csv csv; application/xml xml; text/html html; }
	default_type application/octet-stream;
`, dir+"/nginx.pid", dir+"/body", dir+"/proxy", dir+"/fastcgi", dir+"/uwsgi", dir+"/scgi")
	if c.Rate != "" {
		fmt.Fprintf(&b, "\tlimit_req_zone $binary_remote_addr zone=clients:1m rate=%s;\n", c.Rate)
	}
	fmt.Fprintf(&b, "\tserver {\n\t\tlisten %s;\n\t\troot %q;\n\t\tlocation = %s { return 204; }\n", address, root, nginxReady)
	if c.RetryAfter != "" {
		// Without "always" nginx adds headers to answers of 2xx and 3xx alone.
		fmt.Fprintf(&b, "\t\terror_page 429 @limited;\n\t\tlocation @limited { add_header Retry-After %q always; return 429; }\n", c.RetryAfter)
	}
	b.WriteString("\t\tlocation / {\n")
	if c.Rate != "" {
		fmt.Fprintf(&b, "\t\t\tlimit_req zone=clients%s;\n\t\t\tlimit_req_status 429;\n", c.burst())
	}
	if c.Proxy != "" {
		if len(c.Files) > 0 {
			b.WriteString("\t\t\ttry_files $uri @other;\n\t\t}\n\t\tlocation @other {\n")
		}
		fmt.Fprintf(&b, "\t\t\tproxy_pass %s;\n", strings.TrimSuffix(c.Proxy, "/"))
	}
	fmt.Fprintf(&b, "\t\t}\n%s\n\t}\n}\n", c.Directives)
	return b.String()
}

func (c NginxConfig) burst() string {
	if c.Burst == 0 {
		return ""
	}
	return fmt.Sprintf(" burst=%d nodelay", c.Burst)
}

// nginx returns the path of the program, which is often in no PATH but root's.
func nginx() (string, error) {
	for _, name := range []string{"nginx", "/usr/sbin/nginx", "/usr/local/sbin/nginx", "/opt/homebrew/bin/nginx", "/home/linuxbrew/.linuxbrew/bin/nginx"} {
		path, err := exec.LookPath(name)
		if err == nil || errors.Is(err, exec.ErrDot) {
			return filepath.Abs(path)
		}
	}
	return "", fmt.Errorf("no nginx in PATH nor where packages put it (%w)", errNotHere)
}
