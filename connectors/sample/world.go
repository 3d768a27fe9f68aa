package sample

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"time"
)

// A world is an account's data at one moment: a function of the options, the
// account and the time, and of nothing else. So it is the same after a restart.
//
// Time is cut into ticks, counted from 1970. At each tick one customer changes:
// the one with the number tick*stride modulo the number of customers. stride is
// a prime above the largest number of customers, so in as many ticks as there
// are customers each changes once, and the last ticks up to now, in order, are
// the list of customers by the time of their last change. Tickets likewise.
type world struct {
	Options
	account string
	now     time.Time
}

const stride = 7919

// sinceOrders is when the orders began to come in hourly; Size of them are older.
var sinceOrders = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// A customer as the provider shows it.
type customer struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Email     string `json:"email"`
	Plan      string `json:"plan"`
	Visits    int64  `json:"visits"`
	UpdatedAt string `json:"updated_at"`
}

// customers returns the ticks at which the customers changed last, at or after
// since: from the first up to the last.
func (w world) customers(since time.Time) (first, last int64) {
	every := int64(w.ChangeEvery)
	last = w.now.UnixNano() / every
	first = last - int64(w.Size) + 1
	switch {
	case since.After(w.now):
		first = last + 1
	case since.Unix() > 0:
		first = max(first, (since.Unix()*int64(time.Second)+every-1)/every)
	}
	return first, last
}

// customer returns the customer that changed at a tick.
func (w world) customer(tick int64) customer {
	size := int64(w.Size)
	i := tick * stride % size
	visits := tick / size // one more each time that this customer's turn comes
	return customer{
		ID:        w.id("cus", i),
		Name:      pick(w.roll("name", i), firstNames) + " " + pick(w.roll("surname", i), surnames),
		Email:     fmt.Sprintf("customer%d@%08x.example", i, uint32(w.roll("host", 0))),
		Plan:      pick(w.roll("plan", i)+uint64(visits/5), []string{"free", "basic", "pro"}),
		Visits:    visits,
		UpdatedAt: stamp(tick, w.ChangeEvery),
	}
}

// An order as the provider shows it: it never changes.
type order struct {
	ID       string `json:"id"`
	Number   int64  `json:"number"`
	Customer string `json:"customer"`
	Total    string `json:"total"`
	Currency string `json:"currency"`
	PlacedAt string `json:"placed_at"`
}

// orders returns how many orders there are. Their numbers begin at 1.
func (w world) orders() int64 {
	return int64(w.Size) + max(0, int64(w.now.Sub(sinceOrders)/time.Hour))
}

func (w world) order(number int64) order {
	cents := 100 + w.roll("total", number)%50_000
	return order{
		ID:       w.id("ord", number),
		Number:   number,
		Customer: w.id("cus", int64(w.roll("buyer", number)%uint64(w.Size))),
		Total:    fmt.Sprintf("%d.%02d", cents/100, cents%100),
		Currency: pick(w.roll("currency", number), []string{"EUR", "USD", "GBP"}),
		PlacedAt: sinceOrders.Add(time.Duration(number-int64(w.Size)) * time.Hour).Format(time.RFC3339),
	}
}

// A ticket as the provider shows it; of a deleted one only its end is left.
type ticket struct {
	ID        string `json:"id,omitempty"`
	Subject   string `json:"subject,omitempty"`
	State     string `json:"state,omitempty"`
	Customer  string `json:"customer,omitempty"`
	Deleted   bool   `json:"deleted,omitempty"`
	UpdatedAt string `json:"updated_at"`
}

// states is the life of a ticket: "" is deleted, from which it is restored.
var states = []string{"open", "pending", "open", "pending", "solved", "closed", ""}

// tickets returns the ticks at which the tickets changed last, from the oldest
// up to the newest.
func (w world) tickets() (first, last int64) {
	last = w.now.UnixNano() / int64(w.ticketEvery())
	return last - w.ticketCount() + 1, last
}

// A third as many tickets as customers change half as often.
func (w world) ticketCount() int64         { return int64(w.Size) / 3 }
func (w world) ticketEvery() time.Duration { return 2 * w.ChangeEvery }

// ticket returns the ticket that changed at a tick.
func (w world) ticket(tick int64) ticket {
	i := tick * stride % w.ticketCount()
	t := ticket{ID: w.id("tic", i), UpdatedAt: stamp(tick, w.ticketEvery())}
	t.State = pick(w.roll("state", i)+uint64(tick/w.ticketCount()), states)
	if t.State == "" {
		t.Deleted = true
		return t
	}
	t.Subject = pick(w.roll("subject", i), subjects)
	t.Customer = w.id("cus", int64(w.roll("asker", i)%uint64(w.Size)))
	return t
}

// lostTicket is the one without an id: older than all others, and never changing.
func lostTicket() ticket {
	return ticket{Subject: "I lost my id, on purpose", State: "open", UpdatedAt: "1990-01-01T00:00:00Z"}
}

// id returns the id of the account's thing of a kind and number: like no other
// account's.
func (w world) id(kind string, i int64) string {
	return fmt.Sprintf("%s_%08x%04d", kind, uint32(w.roll(kind, 0)), i)
}

// roll returns a number that is fixed for the account, the seed and what is asked.
func (w world) roll(what string, i int64) uint64 {
	text := strconv.AppendInt(make([]byte, 0, 128), int64(w.Seed), 10)
	text = append(append(append(text, 0), w.account...), 0)
	text = append(append(text, what...), 0)
	h := fnv.New64a()
	h.Write(strconv.AppendInt(text, i, 10))
	x := h.Sum64()
	x ^= x >> 32 // FNV's low bits alone are no dice
	x *= 0x9e3779b97f4a7c15
	return x >> 16
}

// stamp spells the time of a tick, to the second.
func stamp(tick int64, every time.Duration) string {
	return time.Unix(0, tick*int64(every)).UTC().Format(time.RFC3339)
}

func pick(roll uint64, from []string) string { return from[roll%uint64(len(from))] }

var (
	firstNames = []string{"Ada", "Bjørn", "Chidi", "Dörte", "Emre", "Fátima", "Gwen", "Hiro", "Inês", "Jun", "Kofi", "Łucja"}
	surnames   = []string{"Abara", "Berg", "Costa", "Demir", "Evans", "Fujii", "Großmann", "Haddad", "Ito", "Jansen", "Kowalski"}
	subjects   = []string{"Where is my order?", "The invoice is wrong", "I can't sign in", "Please delete my account", "It arrived broken", "<b>HELP</b> & thanks"}
)
