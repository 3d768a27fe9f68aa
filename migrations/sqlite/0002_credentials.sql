-- credentials: what sources' requests are signed with, sealed.
--
-- Invariants:
--   sealed          is opened by the master key key_id alone, for this user and
--                   provider alone. Nothing of the secret is anywhere else.
--   version         rises by one with each write. Who writes names the version
--                   that was read, so that of two writers one is refused.
--   kind            what is sealed: oauth2, token or basic.
--   identity        who the connected account is at the provider; empty if that
--                   is not known.
--   refused         why the provider wants the user to connect again; empty
--                   while it does not.
--   expires_at      when the access token ends; null if nobody knows.
--   due_at          when it is to be refreshed though nobody syncs, so that the
--                   refresh token does not die of age; null for never.
--   refresher       who refreshes it, until refresher_until by this database's
--                   clock. It is set before the provider is asked and taken out
--                   with the write of the answer: one that is left tells of a
--                   refresh whose answer may be lost.
CREATE TABLE credentials (
	user_id         TEXT NOT NULL,
	provider        TEXT NOT NULL,
	kind            TEXT NOT NULL,
	sealed          BLOB NOT NULL,
	key_id          TEXT NOT NULL,
	version         INTEGER NOT NULL,
	identity        TEXT NOT NULL DEFAULT '',
	refused         TEXT NOT NULL DEFAULT '',
	expires_at      INTEGER,
	due_at          INTEGER,
	refresher       TEXT NOT NULL DEFAULT '',
	refresher_until INTEGER,
	created_at      INTEGER NOT NULL,
	updated_at      INTEGER NOT NULL,
	PRIMARY KEY (user_id, provider),
	CONSTRAINT credentials_limits CHECK (
		octet_length(user_id) BETWEEN 1 AND 255
		AND octet_length(provider) BETWEEN 1 AND 128
		AND octet_length(key_id) BETWEEN 1 AND 64)
) STRICT;

CREATE INDEX credentials_due ON credentials (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX credentials_key ON credentials (key_id, user_id, provider);
