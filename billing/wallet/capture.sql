-- Takes captured tokens from the wallets, after `settle.sql`.
UPDATE billing_wallet wallet
SET held = wallet.held - due.settled, available = wallet.available + due.returned,
  moved_at = locked.at
FROM due JOIN locked USING (company_id) WHERE wallet.company_id = due.company_id
