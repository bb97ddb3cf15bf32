-- Balances by the transfers, for `reconciliation.sql`. {available}, {held}: what a transfer adds.

-- Each company with its last seal. Companies come from a loose index scan: even a company without a
-- wallet has transfers.
--: last_seals
WITH RECURSIVE with_transfers AS (
  (SELECT company_id FROM billing_transfer ORDER BY company_id LIMIT 1)
  UNION ALL
  SELECT (SELECT transfer.company_id FROM billing_transfer transfer
          WHERE transfer.company_id > with_transfers.company_id
          ORDER BY transfer.company_id LIMIT 1)
  FROM with_transfers WHERE with_transfers.company_id IS NOT NULL)
SELECT company_id, COALESCE(available, 0) AS available, COALESCE(held, 0) AS held,
  COALESCE((day + 1)::timestamp AT TIME ZONE 'UTC', '-infinity') AS since
FROM (SELECT company_id FROM with_transfers WHERE company_id IS NOT NULL
      UNION SELECT id FROM accounts_company) AS company
LEFT JOIN LATERAL (
  SELECT day, available, held FROM billing_seal WHERE company_id = company.company_id
  ORDER BY day DESC LIMIT 1) AS last ON true

--: booked
SELECT company_id, seal.available + tail.available AS available, seal.held + tail.held AS held
FROM ({last_seals}) seal CROSS JOIN LATERAL (
  SELECT COALESCE(sum({available}), 0) AS available, COALESCE(sum({held}), 0) AS held
  FROM billing_transfer WHERE company_id = seal.company_id AND created_at >= seal.since) AS tail

--: spans_since_last_seals
SELECT company_id, available + held AS opening, since, 'infinity'::timestamptz AS until
FROM ({last_seals}) seal

-- {spans}: company_id, the balance at `since`, and the end of the checked transfers.
--: wrong_balances
SELECT 'company ' || company_id || ' at ' || created_at FROM (
  SELECT span.company_id, transfer.created_at, balance_after,
    opening + sum({available} + {held}) OVER (
      PARTITION BY span.company_id, since ORDER BY created_at, transfer.id) AS balance
  FROM ({spans}) span JOIN billing_transfer transfer
    ON transfer.company_id = span.company_id AND created_at >= since AND created_at < until
  ) AS checked
WHERE balance_after <> balance
