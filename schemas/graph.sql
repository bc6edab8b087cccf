-- The graph: a projection of the log, and of nothing else. Delete it and it is rebuilt.
-- `since` and `until` are log positions: a row was believed from `since` up to, not including, `until` (NULL: still).
-- Times are integer milliseconds UTC. A valid_to is exclusive.

CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
-- layout, log_id, position, hash, schema (TOML, once one was adopted), rules (JSON: learned cardinality by class)

CREATE TABLE moment (position INTEGER PRIMARY KEY, recorded_at INTEGER NOT NULL);
CREATE INDEX moment_time ON moment (recorded_at);

CREATE TABLE source (
    name TEXT PRIMARY KEY, kind TEXT NOT NULL, location TEXT NOT NULL, trust TEXT NOT NULL,
    removed INTEGER NOT NULL, identity TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE paused (
    source TEXT NOT NULL, stream TEXT NOT NULL, reason TEXT NOT NULL, since INTEGER NOT NULL,
    PRIMARY KEY (source, stream)
) WITHOUT ROWID;

CREATE TABLE quarantine (
    source TEXT NOT NULL, place TEXT NOT NULL, error TEXT NOT NULL, since INTEGER NOT NULL,
    PRIMARY KEY (source, place)
) WITHOUT ROWID;

CREATE TABLE item (
    id INTEGER PRIMARY KEY, item TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, title TEXT NOT NULL,
    attributes TEXT NOT NULL, flags TEXT NOT NULL, replaced_by TEXT
);

-- What each source showed of an item: what its sections, names, keys and mailmap entries are, and since when it makes the
-- undated statements that it goes on with (JSON). The last version is held; those before it wait until it is read.
CREATE TABLE observed (
    item INTEGER NOT NULL, source TEXT NOT NULL, position INTEGER NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (item, source, position)
) WITHOUT ROWID;

CREATE TABLE sighting (
    item INTEGER NOT NULL, source TEXT NOT NULL, place TEXT NOT NULL, since INTEGER NOT NULL, until INTEGER
);
CREATE INDEX sighting_item ON sighting (item, until);

-- Where a source says that its owner sent the item: a folder of sent mail. It counts while the item is seen there.
CREATE TABLE sent (item TEXT NOT NULL, source TEXT NOT NULL, place TEXT NOT NULL, PRIMARY KEY (item, source, place)) WITHOUT ROWID;

-- An immutable version of a section. It answers as current only while it is held.
CREATE TABLE episode (
    id INTEGER PRIMARY KEY, episode TEXT NOT NULL UNIQUE, item INTEGER NOT NULL, source TEXT NOT NULL,
    kind TEXT NOT NULL, section TEXT NOT NULL, heading TEXT NOT NULL, title TEXT NOT NULL, text TEXT NOT NULL,
    occurred_at INTEGER NOT NULL, author TEXT NOT NULL, author_node INTEGER, thread TEXT NOT NULL, tags TEXT NOT NULL,
    position INTEGER NOT NULL, scope TEXT NOT NULL DEFAULT '', author_keys TEXT NOT NULL DEFAULT '[]',
    counted INTEGER NOT NULL DEFAULT 0
);
-- scope: the thread, else the item: where a first name means one person. counted: the position of the extraction that
-- counts now, 0 for none, negative when one counted once.
CREATE INDEX episode_item ON episode (item);
CREATE INDEX episode_scope ON episode (scope);
CREATE INDEX episode_time ON episode (occurred_at);

-- The spans of log positions in which an episode was part of what its item says. `line` is where it stands now.
CREATE TABLE holding (
    episode INTEGER NOT NULL, line INTEGER NOT NULL, since INTEGER NOT NULL, until INTEGER
);
CREATE INDEX holding_episode ON holding (episode, until);

-- Where in the log each run's extraction of an episode stands. wish: whether higher tiers should read the episode as well:
-- 0 none may, 1 it is not needed, 2 the gate asks for one. The index holds all that looking for the next one to read takes.
CREATE TABLE extraction (
    episode TEXT NOT NULL, position INTEGER NOT NULL, run TEXT NOT NULL, tier INTEGER NOT NULL,
    occurred_at INTEGER NOT NULL, wish INTEGER NOT NULL,
    PRIMARY KEY (episode, position)
) WITHOUT ROWID;
CREATE INDEX extraction_wish ON extraction (occurred_at, wish, tier) WHERE wish > 0;

-- The same of trials: no reader of the table above can take one for a run that counts.
CREATE TABLE trial (
    episode TEXT NOT NULL, position INTEGER NOT NULL, run TEXT NOT NULL, tier INTEGER NOT NULL,
    PRIMARY KEY (episode, position)
) WITHOUT ROWID;

-- The last failure of a run at an episode that is tried again; retry_at: from when, ms UTC, 0 for never.
CREATE TABLE failure (
    episode TEXT NOT NULL, run TEXT NOT NULL, attempt INTEGER NOT NULL, retry_at INTEGER NOT NULL, reason TEXT NOT NULL,
    PRIMARY KEY (episode, run)
) WITHOUT ROWID;

-- Which run was adopted for a source; the empty source is all others, the empty run none.
CREATE TABLE adopted (source TEXT PRIMARY KEY, run TEXT NOT NULL) WITHOUT ROWID;

-- What an identity is known by: `email:x`, `note:<item>`, `name:<normal>`, `first:<scope>:<normal>` …
-- refs: how much names it now (0: nothing). rep: the key that represents the keys united with it. anchor: the node whose
-- entity it is; 0 when it stands for itself.
CREATE TABLE node (
    id INTEGER PRIMARY KEY, node TEXT NOT NULL UNIQUE, refs INTEGER NOT NULL DEFAULT 0,
    rep INTEGER NOT NULL DEFAULT 0, anchor INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX node_anchor ON node (anchor) WHERE anchor > 0;

-- The current state that identity is resolved from. `naming`: what a node is called and how often (weight: for the type).
-- `tie`: keys that are one entity, both ways. `bearer`: full names of people's keys. `claim`: titles and aliases of held
-- notes. `first_name` and `candidate`: first names, and who in their scope they may be. `verdict`: what people decided.
CREATE TABLE naming (
    node INTEGER NOT NULL, name TEXT NOT NULL, type TEXT NOT NULL, count INTEGER NOT NULL, weight INTEGER NOT NULL,
    PRIMARY KEY (node, name, type)
) WITHOUT ROWID;
CREATE TABLE tie (node INTEGER NOT NULL, other INTEGER NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (node, other)) WITHOUT ROWID;
CREATE TABLE bearer (normal TEXT NOT NULL, node INTEGER NOT NULL, PRIMARY KEY (normal, node)) WITHOUT ROWID;
CREATE TABLE claim (
    normal TEXT NOT NULL, node INTEGER NOT NULL, source TEXT NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY (normal, node, source)
) WITHOUT ROWID;
CREATE INDEX claim_node ON claim (node);
CREATE TABLE first_name (node INTEGER PRIMARY KEY, scope TEXT NOT NULL, normal TEXT NOT NULL, source TEXT NOT NULL);
CREATE INDEX first_name_scope ON first_name (scope);
CREATE INDEX first_name_normal ON first_name (normal);
CREATE TABLE candidate (node INTEGER NOT NULL, first INTEGER NOT NULL, PRIMARY KEY (node, first)) WITHOUT ROWID;
CREATE TABLE verdict (node TEXT NOT NULL, kind TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (node, kind, value)) WITHOUT ROWID;

CREATE TABLE entity (id INTEGER PRIMARY KEY, entity TEXT NOT NULL UNIQUE);

CREATE TABLE entity_version (
    entity INTEGER NOT NULL, name TEXT NOT NULL, type TEXT NOT NULL, since INTEGER NOT NULL, until INTEGER
);
CREATE INDEX entity_version_entity ON entity_version (entity, until);

-- Which entity an identity node is.
CREATE TABLE identity (node INTEGER NOT NULL, entity INTEGER NOT NULL, since INTEGER NOT NULL, until INTEGER);
CREATE INDEX identity_node ON identity (node, until);
CREATE INDEX identity_entity ON identity (entity, until);

CREATE TABLE name (
    entity INTEGER NOT NULL, name TEXT NOT NULL, normal TEXT NOT NULL, since INTEGER NOT NULL, until INTEGER
);
CREATE INDEX name_normal ON name (normal, until);
CREATE INDEX name_entity ON name (entity, until);

CREATE TABLE identity_key (
    entity INTEGER NOT NULL, kind TEXT NOT NULL, value TEXT NOT NULL, since INTEGER NOT NULL, until INTEGER
);
CREATE INDEX identity_key_value ON identity_key (value, kind, until);
CREATE INDEX identity_key_entity ON identity_key (entity, until);

CREATE TABLE mention (
    episode INTEGER NOT NULL, node INTEGER NOT NULL, name TEXT NOT NULL, type TEXT NOT NULL,
    start INTEGER, stop INTEGER, since INTEGER NOT NULL, until INTEGER
);
CREATE INDEX mention_episode ON mention (episode, until);
CREATE INDEX mention_node ON mention (node, until);

-- A statement of one episode as a run extracted it, or of a person (no episode). What it says is never changed: support
-- says when it counted, `active` that it counts now. ends: 0 states, 1 ends, 2 denies (a person's correction).
-- since_at: occurred_at; of an undated statement that an edit restates, that of the first version which made it.
CREATE TABLE evidence (
    id INTEGER PRIMARY KEY, evidence TEXT NOT NULL, episode INTEGER, head INTEGER NOT NULL,
    relation TEXT NOT NULL, phrase_class TEXT NOT NULL, phrase TEXT NOT NULL, tail INTEGER NOT NULL,
    quote TEXT NOT NULL, start INTEGER, stop INTEGER, confidence REAL NOT NULL, tier INTEGER NOT NULL,
    valid_from INTEGER, valid_to INTEGER, ends INTEGER NOT NULL, occurred_at INTEGER NOT NULL, since_at INTEGER NOT NULL DEFAULT 0, trust INTEGER NOT NULL,
    active INTEGER NOT NULL DEFAULT 1
);
CREATE INDEX evidence_episode ON evidence (episode);
CREATE INDEX evidence_head ON evidence (head);
CREATE INDEX evidence_tail ON evidence (tail);
CREATE INDEX evidence_ends ON evidence (head, relation) WHERE ends > 0;

CREATE TABLE fact (
    id INTEGER PRIMARY KEY, fact TEXT NOT NULL UNIQUE, head INTEGER NOT NULL, relation TEXT NOT NULL,
    phrase_class TEXT NOT NULL, tail INTEGER NOT NULL
);
CREATE INDEX fact_head ON fact (head, relation);
CREATE INDEX fact_tail ON fact (tail, relation);
CREATE INDEX fact_relation ON fact (relation, phrase_class);

-- A fact may hold in several disjoint spans of valid time; each is a row. `superseded_by` is a fact's id.
CREATE TABLE fact_version (
    fact INTEGER NOT NULL, phrase TEXT NOT NULL, valid_from INTEGER NOT NULL, valid_to INTEGER,
    confidence REAL NOT NULL, superseded_by INTEGER, reason TEXT NOT NULL, since INTEGER NOT NULL, until INTEGER
);
CREATE INDEX fact_version_fact ON fact_version (fact, until);
CREATE INDEX fact_version_time ON fact_version (valid_from) WHERE until IS NULL;

-- The evidence that states a fact (role `states`) or its end (`ends`).
CREATE TABLE support (
    fact INTEGER NOT NULL, evidence INTEGER NOT NULL, role TEXT NOT NULL, since INTEGER NOT NULL, until INTEGER
);
CREATE INDEX support_fact ON support (fact, until);
CREATE INDEX support_evidence ON support (evidence, until);

-- rowid is episode.id. Rows stay when an episode is no longer held: readers join holding.
CREATE VIRTUAL TABLE passage USING fts5 (
    title, heading, text, content = '', contentless_delete = 1, tokenize = "porter unicode61 remove_diacritics 2"
);
