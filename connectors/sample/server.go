package sample

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// A Server is the built-in provider: an HTTP API of three lists that pages,
// filters, throttles and fails as real ones do.
//
//	GET /v1/customers  ?since=TIME (inclusive) &page=N   oldest change first
//	GET /v1/orders     ?from=NUMBER (inclusive) &cursor=C   by number
//	GET /v1/tickets    ?before=TICK   newest change first, next page by Link
//
// The parameters account, size, seed, change_every and faults are the
// connector's options. Without an account the bearer token stands for one; the
// token "revoked" is refused. The Server keeps nothing but a count of requests,
// by which it places its faults.
type Server struct {
	Now func() time.Time // nil means time.Now

	asked [64]atomic.Uint64 // requests, by a hash of the account
}

// The sizes of the pages.
const (
	customersPage = 50
	ordersPage    = 500
	ticketsPage   = 25
)

// ServeHTTP implements http.Handler. Of an account's requests, one after the
// other, about every 13th meets a fault, and never two in a row.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	now := time.Now
	if s.Now != nil {
		now = s.Now
	}
	at := now()
	w.Header().Set("Date", at.UTC().Format(http.TimeFormat))
	w.Header().Set("Content-Type", "application/json")
	if r.Method != http.MethodGet {
		refuse(w, http.StatusMethodNotAllowed, "only GET is understood")
		return
	}
	o, err := parseOptions(r.URL.Query())
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	account, ok := identify(r, o.Account)
	if !ok {
		refuse(w, http.StatusUnauthorized, "the token was revoked")
		return
	}
	body, next, err := answer(r.URL, world{Options: o, account: account, now: at})
	switch {
	case err != nil:
		refuse(w, http.StatusBadRequest, err.Error())
		return
	case body == nil:
		refuse(w, http.StatusNotFound, "there are /v1/customers, /v1/orders and /v1/tickets")
		return
	}
	if o.Faults && s.fault(w, account, uint64(o.Seed), body) {
		return
	}
	if next != "" {
		w.Header().Set("Link", fmt.Sprintf(`<%s>; rel="next"`, next))
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.Write(body)
}

// identify returns the account that is asked about.
func identify(r *http.Request, account string) (name string, ok bool) {
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case token == "revoked":
		return "", false
	case account == "" && token != "":
		sum := sha256.Sum256([]byte(token))
		return "token " + hex.EncodeToString(sum[:]), true
	}
	return "account " + account, true
}

// fault answers some requests badly, by the count of the account's requests,
// and reports whether it did.
func (s *Server) fault(w http.ResponseWriter, account string, seed uint64, body []byte) bool {
	h := fnv.New32a()
	h.Write([]byte(account))
	n := s.asked[h.Sum32()%uint32(len(s.asked))].Add(1)
	switch (n + seed) % 40 {
	case 9:
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusTooManyRequests, "slow down")
	case 21:
		refuse(w, http.StatusServiceUnavailable, "back in a moment")
	case 33: // the connection is closed, since what was announced does not come
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.Write(body[:len(body)/2])
	default:
		return false
	}
	return true
}

func refuse(w http.ResponseWriter, status int, why string) {
	body, err := json.Marshal(map[string]string{"error": why})
	if err != nil {
		panic(err) // a map of texts
	}
	w.WriteHeader(status)
	w.Write(body)
}

// answer returns a page and the target of its Link; a nil body is no such list.
func answer(u *url.URL, w world) (body []byte, next string, err error) {
	q := u.Query()
	var page any
	switch u.Path {
	case "/v1/customers":
		page, err = customersAnswer(q, w)
	case "/v1/orders":
		page, err = ordersAnswer(q, w)
	case "/v1/tickets":
		page, next, err = ticketsAnswer(q, w)
	default:
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	body, err = json.Marshal(page)
	return body, next, err
}

func customersAnswer(q url.Values, w world) (any, error) {
	number := 1
	if err := parse(q, "page", &number, strconv.Atoi); err != nil {
		return nil, err
	}
	var since time.Time
	if err := parse(q, "since", &since, func(s string) (time.Time, error) { return time.Parse(time.RFC3339, s) }); err != nil {
		return nil, err
	}
	if number < 1 || number > maxSize {
		return nil, fmt.Errorf("page=%d is out of range", number)
	}
	page := struct {
		Customers []customer `json:"customers"`
		Next      *int       `json:"next_page"`
	}{Customers: []customer{}}
	first, last := w.customers(since)
	first += int64(number-1) * customersPage
	for tick := first; tick <= last && tick < first+customersPage; tick++ {
		page.Customers = append(page.Customers, w.customer(tick))
	}
	if first+customersPage <= last {
		page.Next = new(number + 1)
	}
	return page, nil
}

func ordersAnswer(q url.Values, w world) (any, error) {
	from := int64(1)
	if err := parse(q, "from", &from, func(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) }); err != nil {
		return nil, err
	}
	if err := parse(q, "cursor", &from, decodeCursor); err != nil {
		return nil, err
	}
	from = max(from, 1)
	page := struct {
		Orders []order `json:"orders"`
		Next   *string `json:"next_cursor"`
	}{Orders: []order{}}
	last := w.orders()
	for number := from; number <= last && len(page.Orders) < ordersPage; number++ {
		page.Orders = append(page.Orders, w.order(number))
	}
	if next := from + int64(len(page.Orders)); next <= last {
		page.Next = new(encodeCursor(next))
	}
	return page, nil
}

// A cursor is the number of the next order, wrapped so that nobody reckons with it.
func encodeCursor(number int64) string {
	return base64.RawURLEncoding.EncodeToString([]byte("order:" + strconv.FormatInt(number, 10)))
}

func decodeCursor(s string) (int64, error) {
	text, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimPrefix(string(text), "order:"), 10, 64)
}

// ticketsAnswer pages by what was seen last, so that tickets that change
// meanwhile do not move the others from one page to the next.
func ticketsAnswer(q url.Values, w world) (page []ticket, next string, err error) {
	before := int64(1<<63 - 1)
	if err := parse(q, "before", &before, func(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) }); err != nil {
		return nil, "", err
	}
	first, last := w.tickets()
	for tick := min(last, max(before, 1)-1); tick >= first; tick-- {
		if len(page) == ticketsPage {
			q.Set("before", strconv.FormatInt(tick+1, 10))
			return page, "/v1/tickets?" + q.Encode(), nil
		}
		page = append(page, w.ticket(tick))
	}
	return append(page, lostTicket()), "", nil
}
