-- The event log. Rows of `event` are never changed or removed; only an erasure nulls what it names.
-- Times are integer milliseconds UTC. Hashes are SHA-256.

CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
-- log_id: UUID minted when the log was created

CREATE TABLE event (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    event_id TEXT NOT NULL,                -- UUIDv7, rising with the position
    source TEXT NOT NULL,
    subject TEXT,                          -- NULL: erased
    seq INTEGER NOT NULL,                  -- 1, 2, 3 … within source and subject
    type TEXT NOT NULL,
    version INTEGER NOT NULL,
    occurred_at INTEGER NOT NULL,
    recorded_at INTEGER NOT NULL,          -- never falls with the position
    fingerprint TEXT,                      -- '' for none, NULL: erased
    payload TEXT,                          -- canonical JSON, NULL: erased
    salt BLOB CHECK (length(salt) = 16),   -- NULL: erased
    digest BLOB NOT NULL,                  -- of salt, subject, fingerprint and payload
    prev_hash BLOB NOT NULL,
    hash BLOB NOT NULL                     -- of prev_hash, digest and the columns that cannot be erased
) STRICT;

-- What the log makes true: the last seq of a subject at a source, and as JSON the last value that each key of the
-- payloads was set to, with `version:<fingerprint>` for every version it has had. Derivable from `event`. All that an
-- append asks about a subject, at every source, stands together: it is read and written in one place.
CREATE TABLE state (
    subject TEXT NOT NULL, source TEXT NOT NULL, seq INTEGER NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (subject, source)
) STRICT, WITHOUT ROWID;

-- Where the reading of each stream stands: the value of each key, and the head of the log when it was set.
CREATE TABLE cursor (
    source TEXT NOT NULL, stream TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, position INTEGER NOT NULL,
    PRIMARY KEY (source, stream, key)
) STRICT, WITHOUT ROWID;

-- Where it stood: a value held from `position` up to, not including, `until`. Read only to roll back.
CREATE TABLE cursor_was (
    source TEXT NOT NULL, stream TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
    position INTEGER NOT NULL, until INTEGER NOT NULL
) STRICT;

-- The positions that may be erased now: an erasure writes them from its request, and removes them when it is done.
CREATE TABLE erasing (position INTEGER PRIMARY KEY) STRICT;

-- With `recursive_triggers`, which every writer of ours sets, this also stops INSERT OR REPLACE. No trigger looks at an
-- insert: it would cost every append, and `verify` finds what does not follow the event before.
CREATE TRIGGER event_delete BEFORE DELETE ON event
BEGIN
    SELECT raise(ABORT, 'the log is append-only: no event is deleted');
END;

CREATE TRIGGER event_update BEFORE UPDATE ON event
WHEN NOT (
    NEW.subject IS NULL AND NEW.fingerprint IS NULL AND NEW.payload IS NULL AND NEW.salt IS NULL
    AND NEW.position IS OLD.position AND NEW.event_id IS OLD.event_id AND NEW.source IS OLD.source
    AND NEW.seq IS OLD.seq AND NEW.type IS OLD.type AND NEW.version IS OLD.version
    AND NEW.occurred_at IS OLD.occurred_at AND NEW.recorded_at IS OLD.recorded_at
    AND NEW.digest IS OLD.digest AND NEW.prev_hash IS OLD.prev_hash AND NEW.hash IS OLD.hash
    AND EXISTS (SELECT 1 FROM erasing WHERE position = OLD.position)
)
BEGIN
    SELECT raise(ABORT, 'the log is append-only: only an erasure changes an event');
END;
