--: book: `rows` selects holds and their settlements, top-ups, grants and withdrawals
WITH history AS ({rows}), moved AS (
  INSERT INTO billing_transfer
    (company_id, kind, amount, key, message_id, hold, proof, reason, created_at, balance_after)
  SELECT company_id, kind, amount, key, message_id, hold, proof, reason, created_at,
    CASE WHEN kind NOT IN ('hold', 'release') THEN 0 END FROM history
  RETURNING kind, amount, company_id),
due AS (
  SELECT company_id,
         sum(CASE WHEN kind IN ('hold', 'withdraw') THEN -amount WHEN kind = 'capture' THEN 0
                  ELSE amount END) AS available,
         sum(CASE WHEN kind = 'hold' THEN amount WHEN kind IN ('capture', 'release') THEN -amount
                  ELSE 0 END) AS held
  FROM moved GROUP BY company_id)
UPDATE billing_wallet wallet
SET available = wallet.available + due.available, held = wallet.held + due.held
FROM due WHERE wallet.company_id = due.company_id

--: correct
UPDATE billing_transfer transfer SET balance_after = lines.balance FROM (
  SELECT id, sum(CASE WHEN kind IN ('top_up', 'grant') THEN amount ELSE -amount END) OVER (
    PARTITION BY company_id ORDER BY created_at, id) AS balance
  FROM billing_transfer WHERE company_id = ANY(%s) AND balance_after IS NOT NULL) AS lines
WHERE transfer.id = lines.id AND transfer.balance_after <> lines.balance
