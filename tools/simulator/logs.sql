-- Of SQLite. A killed process loses nothing this way; only a power cut could.
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
PRAGMA wal_autocheckpoint = 10000;
PRAGMA cache_size = -65536;

CREATE TABLE IF NOT EXISTS messages (
    id INTEGER PRIMARY KEY,
    channel TEXT NOT NULL,
    provider TEXT NOT NULL,
    provider_id TEXT NOT NULL,
    ref TEXT,
    phone TEXT NOT NULL,
    text TEXT NOT NULL,
    code TEXT,
    links TEXT NOT NULL,    -- JSON list
    state TEXT NOT NULL,    -- sent | delivered | read | failed
    at REAL NOT NULL,       -- unix seconds
    pending TEXT NOT NULL,  -- receipts still to be sent, comma separated
    extra TEXT NOT NULL     -- JSON, the vendor's own
);
CREATE INDEX IF NOT EXISTS messages_phone ON messages (phone);
CREATE INDEX IF NOT EXISTS messages_provider_id ON messages (provider_id);
CREATE TABLE IF NOT EXISTS contacts (
    phone TEXT PRIMARY KEY, contact TEXT NOT NULL, blocked INTEGER NOT NULL
);
