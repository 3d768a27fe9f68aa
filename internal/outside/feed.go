package outside

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// An Item is one entry of a feed. Its GUID is what makes it the same entry later.
type Item struct {
	GUID, Title, Content string
	Published            time.Time
}

// A FeedServer serves one RSS 2.0 feed, whose items a test changes.
type FeedServer struct {
	URL string // of the feed

	mu    sync.Mutex
	items []Item
}

// Feed starts a feed on loopback, which ends with the test.
func Feed(tb testing.TB, items ...Item) *FeedServer {
	tb.Helper()
	f := &FeedServer{items: items}
	server := httptest.NewServer(f)
	tb.Cleanup(server.Close)
	f.URL = server.URL + "/feed.xml"
	return f
}

// Set replaces the items.
func (f *FeedServer) Set(items ...Item) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.items = items
}

type rssItem struct {
	GUID        string `xml:"guid"`
	Title       string `xml:"title"`
	Link        string `xml:"link"`
	Description string `xml:"description"`
	PubDate     string `xml:"pubDate,omitempty"`
}

type rss struct {
	XMLName xml.Name  `xml:"rss"`
	Version string    `xml:"version,attr"`
	Title   string    `xml:"channel>title"`
	Link    string    `xml:"channel>link"`
	Items   []rssItem `xml:"channel>item"`
}

// ServeHTTP answers the feed. Its links lead back here, as a reader follows
// some of them (to an icon, for one).
func (f *FeedServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/feed.xml" {
		http.NotFound(w, r)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	home := "http://" + r.Host
	document := rss{Version: "2.0", Title: "Feed", Link: home}
	for _, item := range f.items {
		served := rssItem{GUID: item.GUID, Title: item.Title, Link: home + "/items/" + item.GUID, Description: item.Content}
		if !item.Published.IsZero() {
			served.PubDate = item.Published.UTC().Format(time.RFC1123Z)
		}
		document.Items = append(document.Items, served)
	}
	content, err := xml.Marshal(document)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/rss+xml")
	fmt.Fprintf(w, "%s%s", xml.Header, content)
}
