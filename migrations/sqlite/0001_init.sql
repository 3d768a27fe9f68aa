-- The schema of syncd on SQLite. The schema on PostgreSQL says the same with
-- that database's types.
--
-- Words: a source is one user's account at one provider, (user_id, provider).
-- Each source reads streams; a stream holds records. A mark is a point in the
-- provider's history, a time in nanoseconds since 1970 or a sequence number.
--
-- Key text is opaque: compared and sorted byte for byte (the collation BINARY,
-- which is the default), never folded, trimmed or parsed. Its limits in bytes
-- (user_id 255, provider 128, stream 255, part 1200, external_id 1200) are the
-- same on both stores.
--
-- Times (all columns named *_at, lease_until and tick) are INTEGER: microseconds
-- since 1970 in UTC. datetime(updated_at / 1000000, 'unixepoch') is readable, and
-- the views show them so. Truth values are 0 and 1. All tables are STRICT:
-- no value is ever stored as another type than its column's.
--
-- There are no foreign keys: records outlive their source until it is removed
-- with everything that is its own. Read any table as you like; write to none
-- of them but through syncd.

-- sources: one row per user and provider, and the queue of what is due.
--
-- Invariants:
--   next_at     the next tick by the schedule. It moves forward only, unless
--               the schedule's text changes. Null: there is no schedule.
--   due_at      when the source is to be claimed: next_at and the source's
--               spread, or what the end of the last run said.
--   wake_at     when the row needs attention; the database computes it. It is
--               the lease's end while somebody holds the lease, due_at while
--               nobody does, and null while the source is paused and free.
--   paused      a sorted set of reasons (operator, removed) as a JSON array
--               without white space, [] if there is none. A source with any is
--               not claimed.
--   lease_token rises by one with each acquisition and never falls; it begins
--               at the time of creation, so that a source that is removed and
--               added again gives out no token of its former life. Whoever
--               writes under an older token, or after lease_until, writes nothing.
--   lease_until null while nobody holds the lease; else lease_owner holds it,
--               or held it if the time has passed by this machine's clock.
--   resume      why due_at is not simply the tick's: new, partial, parked,
--               failed, abandoned, or empty.
--   failures    how many runs in a row have failed.
CREATE TABLE sources (
	user_id       TEXT NOT NULL,
	provider      TEXT NOT NULL,
	connector     TEXT NOT NULL,
	schedule      TEXT NOT NULL,             -- the expression and its zone
	full_schedule TEXT NOT NULL DEFAULT '',  -- of full walks; empty if there is none
	next_at       INTEGER,
	due_at        INTEGER,
	full_at       INTEGER,                   -- the next full walk; null if full_schedule is empty
	resume        TEXT NOT NULL DEFAULT '',
	failures      INTEGER NOT NULL DEFAULT 0,
	paused        TEXT NOT NULL DEFAULT '[]',
	lease_token   INTEGER NOT NULL,
	lease_owner   TEXT NOT NULL DEFAULT '',  -- the daemon; empty while lease_until is null
	lease_until   INTEGER,
	last_run_id   TEXT NOT NULL DEFAULT '',  -- runs.id of the last run begun
	last_done_at  INTEGER,                   -- when a run last ended as done
	created_at    INTEGER NOT NULL,
	wake_at       INTEGER GENERATED ALWAYS AS (
		CASE WHEN lease_until IS NOT NULL THEN lease_until
		     WHEN paused = '[]' THEN due_at
		END) STORED,
	PRIMARY KEY (user_id, provider),
	CONSTRAINT sources_limits CHECK (
		octet_length(user_id) BETWEEN 1 AND 255
		AND octet_length(provider) BETWEEN 1 AND 128
		AND json_type(paused) = 'array')
) STRICT;

CREATE INDEX sources_wake ON sources (wake_at) WHERE wake_at IS NOT NULL;

-- cursors: how far each stream of a source, or each part of it, has been read
-- and committed. A row is written in the transaction of the page that it
-- follows from, so it never says more than the records do.
CREATE TABLE cursors (
	user_id    TEXT NOT NULL,
	provider   TEXT NOT NULL,
	stream     TEXT NOT NULL,
	part       TEXT NOT NULL,      -- empty for a stream without parts
	watermark  INTEGER NOT NULL,   -- everything before this mark has been read; 0 if nothing has
	state      TEXT NOT NULL,      -- JSON, kept byte for byte; what counts when reading goes on
	run_id     TEXT NOT NULL,      -- the run that wrote the row last
	updated_at INTEGER NOT NULL,
	PRIMARY KEY (user_id, provider, stream, part),
	CONSTRAINT cursors_limits CHECK (
		octet_length(user_id) BETWEEN 1 AND 255
		AND octet_length(provider) BETWEEN 1 AND 128
		AND octet_length(stream) BETWEEN 1 AND 255
		AND octet_length(part) <= 1200)
) STRICT;

-- records: each record of each source, once.
--
-- Invariants:
--   external_id is <stream>/<the provider's id>, or <stream>/<part>/<the
--               provider's id> in a stream that is read in parts.
--   data        the provider's bytes as they came, a JSON text: data ->> '$.title'.
--               Null only where the provider reported a deletion of a record
--               that was never seen.
--   hash        the first 16 bytes of the SHA-256 of data.
--   mark        when this state came to be; never falls, so an older state
--               never overwrites a newer one. 0 if the provider does not say.
--   version     1 when inserted, one more with each change. An equal record
--               that comes again writes nothing.
--   deleted_at  when syncd learned that the record is gone; null while it is
--               live. The row and its data stay.
--   absent      it was deleted because a complete listing lacked it, not
--               because the provider said so. Never true of a live record.
--   updated_at  when syncd last wrote a change of the record.
--
-- The table has a rowid on purpose: rows are appended, and only the index is
-- written in the order of the keys. WITHOUT ROWID took 1.4 times as long to
-- load with keys in order, and 2.4 times as long with keys in none.
CREATE TABLE records (
	user_id       TEXT NOT NULL,
	provider      TEXT NOT NULL,
	stream        TEXT NOT NULL,
	external_id   TEXT NOT NULL,
	data          TEXT,
	hash          BLOB NOT NULL,
	mark          INTEGER NOT NULL,
	version       INTEGER NOT NULL,
	deleted_at    INTEGER,
	absent        INTEGER NOT NULL DEFAULT 0,
	first_seen_at INTEGER NOT NULL,
	updated_at    INTEGER NOT NULL,
	run_id        TEXT NOT NULL,   -- the run that wrote updated_at
	CONSTRAINT records_key UNIQUE (user_id, provider, external_id),
	CONSTRAINT records_limits CHECK (
		octet_length(user_id) BETWEEN 1 AND 255
		AND octet_length(provider) BETWEEN 1 AND 128
		AND octet_length(stream) BETWEEN 1 AND 255
		AND octet_length(external_id) BETWEEN 1 AND 1200
		AND octet_length(hash) = 16)
) STRICT;

-- rejects: records that could not be ingested, set aside with their bytes.
--
-- Anything can be kept here. In the text columns that come from outside
-- (stream, part, record_id, reason, detail, place) a byte that a text can't
-- hold, a NUL or one that is not UTF-8, is written as \xHH, and a backslash
-- before an x as \x5c; syncd reads them back as they were.
--
-- The same bytes refused for the same reason in the same stream and part are
-- one row: run_id, last_at and times tell of the last time.
CREATE TABLE rejects (
	id          INTEGER PRIMARY KEY AUTOINCREMENT,
	user_id     TEXT NOT NULL,
	provider    TEXT NOT NULL,
	stream      TEXT NOT NULL,
	part        TEXT NOT NULL,
	record_id   TEXT NOT NULL,               -- the provider's id as far as it is known
	mark        INTEGER NOT NULL,
	deleted     INTEGER NOT NULL,            -- the provider said that the record is gone
	reason      TEXT NOT NULL,               -- for programs: missing_external_id
	detail      TEXT NOT NULL,               -- for people
	place       TEXT NOT NULL,               -- where it stood in the input: line 17
	raw         BLOB NOT NULL,               -- the bytes as they came, at most 1 MiB of them
	raw_size    INTEGER NOT NULL,            -- how many there were
	digest      BLOB NOT NULL,               -- of reason and raw, 16 bytes
	run_id      TEXT NOT NULL,               -- the last run that set it aside
	first_at    INTEGER NOT NULL,
	last_at     INTEGER NOT NULL,
	times       INTEGER NOT NULL DEFAULT 1,
	resolution  TEXT NOT NULL DEFAULT '',    -- empty while open; replayed or discarded
	resolved_at INTEGER,
	resolved_by TEXT NOT NULL DEFAULT '',    -- the run that resolved it
	CONSTRAINT rejects_key UNIQUE (user_id, provider, stream, part, digest)
) STRICT;

CREATE INDEX rejects_by_source ON rejects (user_id, provider, id);
CREATE INDEX rejects_by_run ON rejects (run_id, id);
CREATE INDEX rejects_open ON rejects (user_id, provider) WHERE resolution = '';

-- runs: the run log, one row per attempt to bring a source up to date.
--
-- Invariants:
--   id       a UUIDv7: newer runs sort after older ones.
--   tick     the nominal time by the schedule that the run stands for; null if
--            it stands for none. A source has at most one run for a tick.
--   state    running, then one of done, partial, parked, failed, abandoned
--            (its daemon died), lost (its lease was taken).
--   ended_at null while it is running.
--   The eight counters grow in the transactions of the pages that they count,
--   so they always equal what the tables say.
CREATE TABLE runs (
	id         TEXT PRIMARY KEY NOT NULL,
	user_id    TEXT NOT NULL,
	provider   TEXT NOT NULL,
	token      INTEGER NOT NULL,           -- of the lease that it ran under
	owner      TEXT NOT NULL,              -- the daemon
	trigger    TEXT NOT NULL,              -- schedule, operator, catch-up, resume
	tick       INTEGER,
	folded     INTEGER NOT NULL DEFAULT 0, -- ticks that it stands for besides its own
	full_walk  INTEGER NOT NULL DEFAULT 0, -- it was asked to read everything
	state      TEXT NOT NULL,
	input_fingerprint TEXT NOT NULL DEFAULT '', -- a file's checksum, or the range of the cursors
	started_at INTEGER NOT NULL,
	ended_at   INTEGER,
	inserted   INTEGER NOT NULL DEFAULT 0,
	updated    INTEGER NOT NULL DEFAULT 0,
	unchanged  INTEGER NOT NULL DEFAULT 0, -- equal to what was stored
	stale      INTEGER NOT NULL DEFAULT 0, -- older than what was stored
	deleted    INTEGER NOT NULL DEFAULT 0,
	restored   INTEGER NOT NULL DEFAULT 0, -- had been deleted and came back
	rejected   INTEGER NOT NULL DEFAULT 0,
	duplicate  INTEGER NOT NULL DEFAULT 0, -- came more than once in one page
	pages      INTEGER NOT NULL DEFAULT 0,
	requests   INTEGER NOT NULL DEFAULT 0,
	error      TEXT NOT NULL DEFAULT '',
	notes      TEXT NOT NULL DEFAULT '',   -- what an operator should know, one per line
	resumes    TEXT NOT NULL DEFAULT ''    -- the abandoned run that it took over from
) STRICT;

CREATE UNIQUE INDEX runs_tick ON runs (user_id, provider, tick) WHERE tick IS NOT NULL;
CREATE INDEX runs_by_source ON runs (user_id, provider, id);
CREATE INDEX runs_by_state ON runs (state, id);

-- changes: the outbox. One row for each thing that an ingested record did to
-- the table, written in the same transaction. seq orders all changes.
CREATE TABLE changes (
	seq         INTEGER PRIMARY KEY AUTOINCREMENT,
	user_id     TEXT NOT NULL,
	provider    TEXT NOT NULL,
	stream      TEXT NOT NULL,
	external_id TEXT NOT NULL,
	kind        TEXT NOT NULL,             -- inserted, updated, deleted, restored
	version     INTEGER NOT NULL,          -- of the record after the change
	mark        INTEGER NOT NULL,
	run_id      TEXT NOT NULL,
	at          INTEGER NOT NULL
) STRICT;

-- live_records: the records that are not deleted, for applications.
-- data is the provider's JSON as it came (data ->> '$.title'). The times are text
-- such as 2026-03-01 12:00:00.000, in UTC. marked_at is the mark as a time where
-- the mark lies between 1980 and 2200 if read as one; it is null for sequence
-- numbers.
CREATE VIEW live_records AS
SELECT user_id, provider, stream, external_id, data, mark,
	CASE WHEN mark BETWEEN 315532800000000000 AND 7258118400000000000
	     THEN strftime('%Y-%m-%d %H:%M:%S', mark / 1000000000, 'unixepoch') || printf('.%03d', mark / 1000000 % 1000)
	END AS marked_at,
	version,
	strftime('%Y-%m-%d %H:%M:%S', first_seen_at / 1000000, 'unixepoch') || printf('.%03d', first_seen_at / 1000 % 1000) AS first_seen_at,
	strftime('%Y-%m-%d %H:%M:%S', updated_at / 1000000, 'unixepoch') || printf('.%03d', updated_at / 1000 % 1000) AS updated_at,
	run_id
FROM records
WHERE deleted_at IS NULL;

-- source_states: each source with its last run, for people. The times are text
-- in UTC, to the second.
CREATE VIEW source_states AS
SELECT s.user_id, s.provider, s.connector, s.schedule, s.paused,
	datetime(s.next_at / 1000000, 'unixepoch') AS next_at,
	datetime(s.due_at / 1000000, 'unixepoch') AS due_at,
	s.resume, s.failures, s.lease_owner,
	datetime(s.lease_until / 1000000, 'unixepoch') AS lease_until,
	datetime(s.last_done_at / 1000000, 'unixepoch') AS last_done_at,
	r.id AS last_run_id, r.state AS last_state, r.error AS last_error,
	datetime(r.ended_at / 1000000, 'unixepoch') AS last_ended_at
FROM sources s
LEFT JOIN runs r ON r.id = s.last_run_id;
