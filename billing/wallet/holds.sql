-- Parts of the statements that accept messages. In them `allowed` has the messages to pay for, and
-- `paid` those that are paid, with their columns: by `hold_wallet.sql`, by `hold_wallets.sql`, or
-- for nothing. The keys `transfer_hold_once` and `transfer_one_capture` see to it that a hold is
-- opened and settled once, and a message charged once.

-- Test keys pay nothing.
--: free
paid AS (SELECT * FROM allowed)

--: open_hold
INSERT INTO billing_transfer (company_id, kind, amount, message_id, hold, proof, reason)
SELECT company_id, 'hold', price, message_id, 1, '', '' FROM paid

-- Skips wallets locked by another transaction, so that no company waits for another.
--: unlocked_wallets
JOIN (
  SELECT company_id FROM billing_wallet WHERE company_id IN (SELECT company_id FROM allowed)
  FOR UPDATE SKIP LOCKED) AS unlocked USING (company_id)
