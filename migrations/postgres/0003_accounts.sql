-- Sources that were added at run time, whose account they are of, what happened
-- to accounts, and what daemons remember together.
--
-- Invariants of the new columns of sources:
--   declared    what a source that was added at run time was added with: options
--               and schedule as a JSON object. Empty: the configuration has the
--               source, and says that.
--   account     the provider's id of the account that the source's records are
--               of; empty if the provider does not say. A credential of another
--               account (credentials.identity) is not used until somebody has
--               confirmed it.
ALTER TABLE sources ADD COLUMN declared text NOT NULL DEFAULT '';
ALTER TABLE sources ADD COLUMN account text NOT NULL DEFAULT '';

-- events: what happened to the accounts of users, in the order of seq. Rows are
-- only ever added, until their user is erased.
CREATE TABLE events (
	seq      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	user_id  text COLLATE "C" NOT NULL,
	provider text COLLATE "C" NOT NULL,
	kind     text NOT NULL,             -- connected, needs_reauth, account_changed, ...
	detail   text NOT NULL,             -- for people
	at       timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE INDEX events_by_source ON events (user_id, provider, seq);

-- memos: what daemons remember together for a short while: the sessions in which
-- users connect, and the answers to requests that may be sent again. A memo that
-- has expired is as good as gone. There is no secret in them.
CREATE TABLE memos (
	kind       text NOT NULL,
	id         text COLLATE "C" NOT NULL,
	user_id    text COLLATE "C" NOT NULL,           -- whom it is about; empty if nobody
	body       text NOT NULL,           -- JSON
	version    bigint NOT NULL,        -- rises by one with each write; see credentials
	expires_at timestamptz NOT NULL,
	PRIMARY KEY (kind, id)
);

CREATE INDEX memos_by_end ON memos (expires_at);
CREATE INDEX memos_by_user ON memos (user_id) WHERE user_id <> '';
