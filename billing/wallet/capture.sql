-- Takes captured tokens from the wallets, after `settle.sql`.
UPDATE billing_wallet w
SET held = w.held - due.settled, available = w.available + due.returned,
  moved_at = locked.at
FROM due JOIN locked USING (company_id) WHERE w.company_id = due.company_id
