package bench

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/syncdhq/syncd"
)

// serveVariable makes a process of this program the page server.
const serveVariable = "SYNCD_BENCH_SERVE"

// serve is the provider over HTTP, in a process of its own so that its memory
// is not counted: GET /items?page=TOKEN. It ends when its input does.
func serve(n int) error {
	f := feed{n: n}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /items", func(w http.ResponseWriter, r *http.Request) {
		from, err := offset(r.URL.Query().Get("page"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		to := min(from+pageSize, f.n)
		next := ""
		if to < f.n {
			next = strconv.Itoa(to)
		}
		b := fmt.Appendf(make([]byte, 0, (to-from)*480), `{"next":%q,"items":[`, next)
		for i := from; i < to; i++ {
			if i > from {
				b = append(b, ',')
			}
			b = appendRecord(b, i, f.changed(i))
		}
		b = append(b, "]}"...)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(b)))
		w.Write(b)
	})
	fmt.Println("http://" + l.Addr().String())
	go http.Serve(l, mux)
	bufio.NewReader(os.Stdin).ReadByte() // the parent holds it open
	return nil
}

// startServer starts serve in another process and returns its URL.
func startServer(ctx context.Context, n int) (base string, stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), serveVariable+"="+strconv.Itoa(n))
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return "", nil, fmt.Errorf("the page server did not start: %w", err)
	}
	return strings.TrimSpace(line), func() { in.Close(); cmd.Wait() }, nil
}

// overHTTP is the stream that reads the page server.
func overHTTP(c *syncd.Client) syncd.Stream {
	return syncd.Stream{Name: "items", Fetch: func(ctx context.Context, req syncd.Request) (syncd.Page, error) {
		query := url.Values{}
		if req.Page != "" {
			query.Set("page", req.Page)
		}
		resp, err := c.Get(ctx, "/items", query)
		if err != nil {
			return syncd.Page{}, err
		}
		records, err := syncd.Decode(resp.Body, "items", toRecord)
		if err != nil {
			return syncd.Page{}, err
		}
		next, err := syncd.Token(resp.Body, "next")
		return syncd.Page{Records: records, Next: next}, err
	}}
}
