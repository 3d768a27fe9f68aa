// Package postgres keeps what syncd keeps in PostgreSQL 14 or later. The tables and their
// invariants are described in migrations/postgres.
//
// A DSN is a URL or a list of key=value pairs as libpq reads it, with pgxpool's
// settings (pool_max_conns and so on) and one of our own:
//
//	pooler=transaction   a pooler such as PgBouncer is in between and gives out
//	                     a server connection per transaction. No prepared
//	                     statement, session setting or session lock is used then.
//	pooler=session       it gives out a server connection per client.
//
// How a page is committed. Update sends BEGIN and the check of the lease
// together with the first read; what needs no answer (cursor, counters,
// rejects, changes) waits in the transaction and goes out with the second
// check of the lease and COMMIT. A page whose records are unchanged takes two
// round trips, one with new records three. The lease's row stays locked in
// between, so nobody can take the lease from a transaction under way.
package postgres
