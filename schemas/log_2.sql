-- Logs of the first layout had a row of state a key, and triggers on inserts: now it is a row a subject, and none.
DROP TRIGGER event_insert;
DROP TRIGGER event_inserted;
DROP TRIGGER event_erasure_requested;
DROP TRIGGER event_subject_erased;
DROP INDEX cursor_was_until;
ALTER TABLE state RENAME TO state_was;
CREATE TABLE state (
    subject TEXT NOT NULL, source TEXT NOT NULL, seq INTEGER NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (subject, source)
) STRICT, WITHOUT ROWID;
INSERT INTO state (subject, source, seq, value)
SELECT subject, source, max(iif(key = 'seq', CAST(value AS INTEGER), 0)),
    json_group_object(key, value) FILTER (WHERE key <> 'seq')
FROM (SELECT * FROM state_was ORDER BY subject, source, key) GROUP BY subject, source;
DROP TABLE state_was;
