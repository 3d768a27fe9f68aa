package outside

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/chromedp/chromedp"
)

func TestBrowser(t *testing.T) {
	t.Parallel()
	var names []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			names = append(names, r.FormValue("name"))
			http.Redirect(w, r, "/done", http.StatusSeeOther)
			return
		}
		if r.URL.Path == "/form" {
			fmt.Fprint(w, `<!doctype html><form method="post"><input id="name" name="name"><button id="go">Go</button></form>`)
		}
	}))
	t.Cleanup(server.Close)
	page := Browser(t)
	err := chromedp.Do(page,
		chromedp.Navigate(server.URL+"/form"),
		chromedp.SendKeys(chromedp.CSS("#name"), "Jenny Rosen"),
		ClickThrough("#go"),
	)
	if err != nil {
		t.Fatal(err)
	}
	address, err := chromedp.Run(page, chromedp.Location())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := address, server.URL+"/done"; got != want {
		t.Errorf("the browser is at %s, want %s", got, want)
	}
	if len(names) != 1 || names[0] != "Jenny Rosen" {
		t.Errorf("the form was sent with %q", names)
	}
}
