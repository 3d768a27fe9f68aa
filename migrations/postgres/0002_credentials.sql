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
	user_id         text COLLATE "C" NOT NULL,
	provider        text COLLATE "C" NOT NULL,
	kind            text NOT NULL,
	sealed          bytea NOT NULL,
	key_id          text COLLATE "C" NOT NULL,
	version         bigint NOT NULL,
	identity        text NOT NULL DEFAULT '',
	refused         text NOT NULL DEFAULT '',
	expires_at      timestamptz,
	due_at          timestamptz,
	refresher       text NOT NULL DEFAULT '',
	refresher_until timestamptz,
	created_at      timestamptz NOT NULL DEFAULT now(),
	updated_at      timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (user_id, provider),
	CONSTRAINT credentials_limits CHECK (
		octet_length(user_id) BETWEEN 1 AND 255
		AND octet_length(provider) BETWEEN 1 AND 128
		AND octet_length(key_id) BETWEEN 1 AND 64)
);

CREATE INDEX credentials_due ON credentials (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX credentials_key ON credentials (key_id, user_id, provider);
