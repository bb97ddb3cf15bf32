-- Takes captured tokens from the wallets, after `settle.sql`.
UPDATE billing_wallet wallet
SET held = wallet.held - company_total.settled,
  available = wallet.available + company_total.returned, moved_at = locked.at
FROM company_total JOIN locked USING (company_id) WHERE wallet.company_id = company_total.company_id
