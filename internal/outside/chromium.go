package outside

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/remote"
)

// patienceToBrowse is how long a browser may be at a test's service.
const patienceToBrowse = 10 * time.Minute

// Browser starts a Chromium without a window and with an empty profile, which
// ends with the test, and returns the context of its one page, for chromedp's
// actions:
//
//	page := outside.Browser(t)
//	err := chromedp.Do(page, chromedp.Navigate(address), outside.ClickThrough("#authorize-app"))
//
// It asks loopback only, but for what a page asks of it.
func Browser(tb testing.TB) context.Context {
	tb.Helper()
	program, err := chromium()
	if err != nil {
		giveUp(tb, err)
	}
	dir := tb.TempDir()
	address := serve(tb, service{name: "chromium", dir: dir, health: "/json/version", command: func(address string) *exec.Cmd {
		return exec.Command(program, chromiumFlags(dir, address)...)
	}})
	ctx, cancel := context.WithTimeout(tb.Context(), patienceToBrowse)
	tb.Cleanup(cancel)
	allocator, cancelAllocator := remote.NewAllocator(ctx, "http://"+address)
	tb.Cleanup(cancelAllocator)
	page, cancelPage := chromedp.NewContext(allocator)
	tb.Cleanup(cancelPage)
	if err := chromedp.Do(page); err != nil {
		tb.Fatalf("open a page in %s: %v", program, err)
	}
	return page
}

// ClickThrough clicks what a CSS selector finds, and waits for the page that
// the click leads to: what is looked for meanwhile would be looked for in a page
// that goes away.
func ClickThrough(selector chromedp.CSS) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.RunResponse(ctx, chromedp.Click(selector))
		return err
	})
}

// chromiumFlags start a browser that a program drives at the address. Without
// them it looks for its maker's servers at every start.
func chromiumFlags(dir, address string) []string {
	_, port, _ := net.SplitHostPort(address)
	return []string{
		"--headless", "--disable-gpu", "--no-first-run", "--no-default-browser-check",
		"--no-sandbox",            // which root can't have, and which keeps out nobody here: the pages are the tests' own
		"--disable-dev-shm-usage", // it is small in containers
		"--disable-quic", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
		"--disable-default-apps", "--disable-breakpad", "--log-level=3", "--disable-domain-reliability", "--disable-client-side-phishing-detection",
		"--disable-features=Translate,OptimizationHints,MediaRouter,AutofillServerCommunication", "--metrics-recording-only",
		"--password-store=basic", "--use-mock-keychain", "--no-proxy-server",
		"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
		"--user-data-dir=" + filepath.Join(dir, "profile"),
		"--remote-debugging-address=127.0.0.1", "--remote-debugging-port=" + port,
		"about:blank",
	}
}

// chromium returns the path of the program, whose name differs by system.
func chromium() (string, error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "/Applications/Chromium.app/Contents/MacOS/Chromium", "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"} {
		path, err := exec.LookPath(name)
		if err == nil || errors.Is(err, exec.ErrDot) {
			return filepath.Abs(path)
		}
	}
	return "", fmt.Errorf("no Chromium in PATH nor where packages put it (%w)", errNotHere)
}
