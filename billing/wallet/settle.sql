-- CTEs with which a statement settles holds.
--
-- A hold settled twice, or a message captured twice, conflicts on a unique index. Those rows are
-- skipped with their money: only inserted rows move the wallet. The time is taken under the
-- wallet's lock and never repeats, so that each balance follows from the one before it in the order
-- of time.
requested AS (
  SELECT * FROM {settlements}),
locked AS (
  SELECT company_id, available + held AS balance, {at} AS at FROM billing_wallet
  WHERE company_id IN (SELECT company_id FROM requested) ORDER BY company_id FOR UPDATE),
settlement AS (
  INSERT INTO billing_transfer
    (company_id, kind, amount, message_id, hold, proof, reason, created_at, balance_after)
  SELECT company_id, kind, amount, message_id, hold, proof, reason, at,
    CASE kind WHEN 'capture' THEN balance - sum(amount) FILTER (WHERE kind = 'capture') OVER (
      PARTITION BY company_id ORDER BY message_id, hold) END
  FROM requested JOIN locked USING (company_id)
  WHERE NOT EXISTS (
    SELECT FROM billing_transfer transfer
    WHERE transfer.message_id = requested.message_id AND transfer.hold = requested.hold
      AND transfer.kind <> 'hold' AND transfer.message_id BETWEEN :first_id AND :last_id)
  ORDER BY message_id, hold
  ON CONFLICT DO NOTHING RETURNING company_id, kind, amount, message_id, hold),
company_total AS (
  SELECT company_id, sum(amount) AS settled,
         COALESCE(sum(amount) FILTER (WHERE kind = 'release'), 0) AS returned
  FROM settlement GROUP BY company_id)
