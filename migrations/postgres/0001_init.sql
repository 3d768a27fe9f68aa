-- The schema of syncd on PostgreSQL. The schema on SQLite says the same with
-- that database's types.
--
-- Words: a source is one user's account at one provider, (user_id, provider).
-- Each source reads streams; a stream holds records. A mark is a point in the
-- provider's history, a time in nanoseconds since 1970 or a sequence number.
--
-- Key text is opaque: compared and sorted byte for byte (COLLATE "C"), never
-- folded, trimmed or parsed. Its limits in bytes (user_id 255, provider 128,
-- stream 255, part 1200, external_id 1200) are the same on both stores.
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
--   paused      a sorted set of reasons (operator, removed). A source with any
--               is not claimed.
--   lease_token rises by one with each acquisition and never falls. Whoever
--               writes under an older token, or after lease_until, writes nothing.
--   lease_until null while nobody holds the lease; else lease_owner holds it,
--               or held it if the time has passed by this database's clock.
--   resume      why due_at is not simply the tick's: new, partial, parked,
--               failed, abandoned, or empty.
--   failures    how many runs in a row have failed.
CREATE TABLE sources (
	user_id       text COLLATE "C" NOT NULL,
	provider      text COLLATE "C" NOT NULL,
	connector     text COLLATE "C" NOT NULL,
	schedule      text NOT NULL,             -- the expression and its zone
	full_schedule text NOT NULL DEFAULT '',  -- of full walks; empty if there is none
	next_at       timestamptz,
	due_at        timestamptz,
	full_at       timestamptz,               -- the next full walk; null if full_schedule is empty
	resume        text NOT NULL DEFAULT '',
	failures      integer NOT NULL DEFAULT 0,
	paused        text[] NOT NULL DEFAULT '{}',
	lease_token   bigint NOT NULL DEFAULT 0,
	lease_owner   text NOT NULL DEFAULT '',  -- the daemon; empty while lease_until is null
	lease_until   timestamptz,
	last_run_id   text COLLATE "C" NOT NULL DEFAULT '', -- runs.id of the last run begun
	last_done_at  timestamptz,               -- when a run last ended as done
	created_at    timestamptz NOT NULL DEFAULT now(),
	wake_at       timestamptz GENERATED ALWAYS AS (
		CASE WHEN lease_until IS NOT NULL THEN lease_until
		     WHEN cardinality(paused) = 0 THEN due_at
		END) STORED,
	PRIMARY KEY (user_id, provider),
	CONSTRAINT sources_limits CHECK (
		octet_length(user_id) BETWEEN 1 AND 255
		AND octet_length(provider) BETWEEN 1 AND 128)
);

CREATE INDEX sources_wake ON sources (wake_at) WHERE wake_at IS NOT NULL;

-- cursors: how far each stream of a source, or each part of it, has been read
-- and committed. A row is written in the transaction of the page that it
-- follows from, so it never says more than the records do.
CREATE TABLE cursors (
	user_id    text COLLATE "C" NOT NULL,
	provider   text COLLATE "C" NOT NULL,
	stream     text COLLATE "C" NOT NULL,
	part       text COLLATE "C" NOT NULL, -- empty for a stream without parts
	watermark  bigint NOT NULL,           -- everything before this mark has been read; 0 if nothing has
	state      text NOT NULL,             -- JSON, kept byte for byte; what counts when reading goes on
	run_id     text COLLATE "C" NOT NULL, -- the run that wrote the row last
	updated_at timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (user_id, provider, stream, part),
	CONSTRAINT cursors_limits CHECK (
		octet_length(user_id) BETWEEN 1 AND 255
		AND octet_length(provider) BETWEEN 1 AND 128
		AND octet_length(stream) BETWEEN 1 AND 255
		AND octet_length(part) <= 1200)
);

-- records: each record of each source, once.
--
-- Invariants:
--   external_id is <stream>/<the provider's id>, or <stream>/<part>/<the
--               provider's id> in a stream that is read in parts.
--   data        the provider's bytes as they came. Null only where the provider
--               reported a deletion of a record that was never seen.
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
CREATE TABLE records (
	user_id       text COLLATE "C" NOT NULL,
	provider      text COLLATE "C" NOT NULL,
	stream        text COLLATE "C" NOT NULL,
	external_id   text COLLATE "C" NOT NULL,
	data          json,
	hash          bytea NOT NULL,
	mark          bigint NOT NULL,
	version       bigint NOT NULL,
	deleted_at    timestamptz,
	absent        boolean NOT NULL DEFAULT false,
	first_seen_at timestamptz NOT NULL DEFAULT now(),
	updated_at    timestamptz NOT NULL DEFAULT now(),
	run_id        text COLLATE "C" NOT NULL, -- the run that wrote updated_at
	CONSTRAINT records_key UNIQUE (user_id, provider, external_id),
	CONSTRAINT records_limits CHECK (
		octet_length(user_id) BETWEEN 1 AND 255
		AND octet_length(provider) BETWEEN 1 AND 128
		AND octet_length(stream) BETWEEN 1 AND 255
		AND octet_length(external_id) BETWEEN 1 AND 1200
		AND octet_length(hash) = 16)
);

ALTER TABLE records REPLICA IDENTITY USING INDEX records_key;

-- rejects: records that could not be ingested, set aside with their bytes.
--
-- Anything can be kept here. In the text columns that come from outside
-- (stream, part, record_id, reason, detail, place) a byte that PostgreSQL's
-- text can't hold, a NUL or one that is not UTF-8, is written as \xHH, and a
-- backslash before an x as \x5c; syncd reads them back as they were.
--
-- The same bytes refused for the same reason in the same stream and part are
-- one row: run_id, last_at and times tell of the last time.
CREATE TABLE rejects (
	id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	user_id     text COLLATE "C" NOT NULL,
	provider    text COLLATE "C" NOT NULL,
	stream      text COLLATE "C" NOT NULL,
	part        text COLLATE "C" NOT NULL,
	record_id   text COLLATE "C" NOT NULL,  -- the provider's id as far as it is known
	mark        bigint NOT NULL,
	deleted     boolean NOT NULL,           -- the provider said that the record is gone
	reason      text COLLATE "C" NOT NULL,  -- for programs: missing_external_id
	detail      text NOT NULL,              -- for people
	place       text NOT NULL,              -- where it stood in the input: line 17
	raw         bytea NOT NULL,             -- the bytes as they came, at most 1 MiB of them
	raw_size    bigint NOT NULL,            -- how many there were
	digest      bytea NOT NULL,             -- of reason and raw, 16 bytes
	run_id      text COLLATE "C" NOT NULL,  -- the last run that set it aside
	first_at    timestamptz NOT NULL DEFAULT now(),
	last_at     timestamptz NOT NULL DEFAULT now(),
	times       bigint NOT NULL DEFAULT 1,
	resolution  text NOT NULL DEFAULT '',   -- empty while open; replayed or discarded
	resolved_at timestamptz,
	resolved_by text COLLATE "C" NOT NULL DEFAULT '', -- the run that resolved it
	CONSTRAINT rejects_key UNIQUE (user_id, provider, stream, part, digest)
);

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
	id         text COLLATE "C" PRIMARY KEY,
	user_id    text COLLATE "C" NOT NULL,
	provider   text COLLATE "C" NOT NULL,
	token      bigint NOT NULL,           -- of the lease that it ran under
	owner      text NOT NULL,             -- the daemon
	trigger    text NOT NULL,             -- schedule, operator, catch-up, resume
	tick       timestamptz,
	folded     integer NOT NULL DEFAULT 0, -- ticks that it stands for besides its own
	full_walk  boolean NOT NULL DEFAULT false, -- it was asked to read everything
	state      text COLLATE "C" NOT NULL,
	input_fingerprint text NOT NULL DEFAULT '', -- a file's checksum, or the range of the cursors
	started_at timestamptz NOT NULL DEFAULT now(),
	ended_at   timestamptz,
	inserted   bigint NOT NULL DEFAULT 0,
	updated    bigint NOT NULL DEFAULT 0,
	unchanged  bigint NOT NULL DEFAULT 0, -- equal to what was stored
	stale      bigint NOT NULL DEFAULT 0, -- older than what was stored
	deleted    bigint NOT NULL DEFAULT 0,
	restored   bigint NOT NULL DEFAULT 0, -- had been deleted and came back
	rejected   bigint NOT NULL DEFAULT 0,
	duplicate  bigint NOT NULL DEFAULT 0, -- came more than once in one page
	pages      bigint NOT NULL DEFAULT 0,
	requests   bigint NOT NULL DEFAULT 0,
	error      text NOT NULL DEFAULT '',
	notes      text NOT NULL DEFAULT '',  -- what an operator should know, one per line
	resumes    text COLLATE "C" NOT NULL DEFAULT '' -- the abandoned run that it took over from
);

CREATE UNIQUE INDEX runs_tick ON runs (user_id, provider, tick) WHERE tick IS NOT NULL;
CREATE INDEX runs_by_source ON runs (user_id, provider, id);
CREATE INDEX runs_by_state ON runs (state, id);

-- changes: the outbox. One row for each thing that an ingested record did to
-- the table, written in the same transaction. seq orders the changes of one
-- source; between sources a lower seq may become visible after a higher one.
CREATE TABLE changes (
	seq         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	user_id     text COLLATE "C" NOT NULL,
	provider    text COLLATE "C" NOT NULL,
	stream      text COLLATE "C" NOT NULL,
	external_id text COLLATE "C" NOT NULL,
	kind        text NOT NULL,            -- inserted, updated, deleted, restored
	version     bigint NOT NULL,          -- of the record after the change
	mark        bigint NOT NULL,
	run_id      text COLLATE "C" NOT NULL,
	at          timestamptz NOT NULL DEFAULT now()
);

-- live_records: the records that are not deleted, for applications.
-- data is the provider's JSON as it came (data ->> 'title'); doc is the same as
-- jsonb, for containment (doc @> '{"state": "open"}'). marked_at is the mark as
-- a time, to the microsecond, where the mark lies between 1980 and 2200 if read
-- as one; it is null for sequence numbers.
CREATE VIEW live_records AS
SELECT user_id, provider, stream, external_id, data, data::jsonb AS doc, mark,
	CASE WHEN mark BETWEEN 315532800000000000 AND 7258118400000000000
	     THEN timestamptz 'epoch' + (mark / 1000) * interval '1 microsecond'
	END AS marked_at,
	version, first_seen_at, updated_at, run_id
FROM records
WHERE deleted_at IS NULL;

-- source_states: each source with its last run, for people.
CREATE VIEW source_states AS
SELECT s.user_id, s.provider, s.connector, s.schedule, s.paused, s.next_at, s.due_at,
	s.resume, s.failures, s.lease_owner, s.lease_until, s.last_done_at,
	r.id AS last_run_id, r.state AS last_state, r.error AS last_error, r.ended_at AS last_ended_at
FROM sources s
LEFT JOIN runs r ON r.id = s.last_run_id;
