-- Of SQLite: what the client asked for, and how it was answered.
PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
CREATE TABLE orders (key TEXT PRIMARY KEY, company_id INTEGER, path TEXT, phone TEXT, at REAL);
CREATE TABLE calls (        -- every try of every order; status 0: no answer
    key TEXT, status INTEGER, code TEXT, message TEXT, body TEXT, replayed INTEGER, seconds REAL,
    at REAL);
CREATE TABLE entries (      -- every try at entering a code
    person TEXT,            -- the order whose recipient enters the code
    key TEXT,               -- Idempotency-Key, if any
    try TEXT,               -- identifies the entry: repeats of one call share it
    company_id INTEGER, phone TEXT, is_correct INTEGER, status INTEGER, code TEXT,
    verification TEXT, seconds REAL, at REAL);
