package postgres

// The key of a record, named here and nowhere else: the unique constraint
// records_key has the same three columns in the same order.
const recordKey = "user_id, provider, external_id"

// atRecord selects one record of the source ($1, $2) by its key; the external
// id follows.
const atRecord = "user_id = $1 AND provider = $2 AND external_id = "

// ofSource selects the rows of the source ($1, $2).
const ofSource = "user_id = $1 AND provider = $2"
