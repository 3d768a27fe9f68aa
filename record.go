package syncd

import "encoding/json"

// A Record is one thing at the provider in one of its states.
type Record struct {
	ID      string          // the provider's id, as text: byte-exact, case-sensitive, never parsed
	Mark    Mark            // when this state came to be; 0 if the provider does not say
	Deleted bool            // the provider says that it is gone; Data may then be nil
	Data    json.RawMessage // the provider's bytes, untouched: one JSON value
	Err     error           // why it can't be ingested: it is set aside, the page goes on

	// Raw is what the record was read from where that is not Data (a line of a
	// CSV file). It is what is kept when the record is set aside.
	Raw []byte
	// Place says where the record stood, for people: "line 17". Optional.
	Place string
}
