-- Invariants that hold after every run, whatever was killed: each query returns violations. I1 to
-- I8 are the numbers of the design. They also read the tables of `external_records`.

--: I1 answered: every order is answered definitely in the end
SELECT 'order ' || client_order.key FROM client_order WHERE NOT EXISTS (
  SELECT FROM client_call
  WHERE client_call.key = client_order.key AND client_call.status NOT IN (0, 409, 500, 503))

--: I1 kept: a message named in an answer is in the database, for that company and phone
SELECT DISTINCT 'order ' || client_call.key FROM client_call JOIN client_order USING (key)
LEFT JOIN channels_message message
  ON message.id = client_call.message_id AND message.company_id = client_order.company_id
    AND message.phone = client_order.phone
WHERE client_call.is_kept AND message.id IS NULL

--: I1 tried: each accepted message was handed to a vendor, or that was tried, or its code entered
SELECT 'message ' || message.id FROM channels_message message
WHERE message.state NOT IN ('queued', 'sent') AND message.tries = 0
  AND NOT EXISTS (SELECT FROM channels_fallbackevent fallback_event
                  WHERE fallback_event.message_id = message.id
                    AND fallback_event.reason = 'code_entered')

--: I2 one message: one Idempotency-Key makes one message
SELECT 'order ' || key FROM client_call WHERE message_id IS NOT NULL
GROUP BY key HAVING count(DISTINCT message_id) > 1
UNION ALL
SELECT 'message ' || message.id FROM channels_message message
LEFT JOIN api_idempotentrequest stored ON stored.subject_id = message.id
GROUP BY message.id HAVING count(stored.id) <> 1
UNION ALL
SELECT 'key ' || key FROM api_idempotentrequest
GROUP BY company_id, mode, path, key HAVING count(*) > 1
UNION ALL
SELECT 'phone ' || message.phone FROM channels_message message
GROUP BY message.company_id, message.phone
HAVING count(*) > (SELECT count(*) FROM client_order
                   WHERE client_order.company_id = message.company_id
                     AND client_order.phone = message.phone)

--: I2 one answer: one Idempotency-Key has one answer, to the byte
SELECT 'order ' || client_call.key FROM client_call WHERE client_call.is_kept
GROUP BY client_call.key HAVING count(DISTINCT client_call.status || client_call.body) > 1
UNION ALL
SELECT 'order ' || client_call.key FROM client_call JOIN client_order USING (key)
LEFT JOIN api_idempotentrequest stored
  ON stored.company_id = client_order.company_id AND stored.path = client_order.path
    AND stored.key = client_order.key
WHERE client_call.is_kept
  AND (stored.status, stored.body) IS DISTINCT FROM (client_call.status, client_call.body)

--: I3 resolved once: a message has a hold per tried channel; only the last may be open
SELECT 'message ' || message.id FROM channels_message message
LEFT JOIN billing_transfer transfer ON transfer.message_id = message.id
GROUP BY message.id
HAVING count(*) FILTER (WHERE transfer.kind = 'hold') <> message.hold
  OR count(*) FILTER (WHERE transfer.kind IN ('capture', 'release'))
     <> message.hold - (message.state IN ('queued', 'sent') OR message.is_owed)::int

--: I4 wallets: a wallet is the sum of its transfers, and never below zero
SELECT 'company ' || wallet.company_id FROM billing_wallet wallet
LEFT JOIN (SELECT company_id, kind, amount FROM billing_transfer UNION ALL
           SELECT company_id, kind, tokens FROM billing_archivedsum) booked
  ON booked.company_id = wallet.company_id
GROUP BY wallet.company_id
HAVING wallet.available < 0 OR wallet.held < 0
  OR wallet.available <> COALESCE(sum(CASE
       WHEN booked.kind IN ('grant', 'top_up', 'release') THEN booked.amount
       WHEN booked.kind IN ('withdraw', 'hold') THEN -booked.amount ELSE 0 END), 0)
  OR wallet.held <> COALESCE(sum(CASE WHEN booked.kind = 'hold' THEN booked.amount
       WHEN booked.kind IN ('capture', 'release') THEN -booked.amount ELSE 0 END), 0)

--: I4 holds: a wallet holds exactly the price of its open messages
SELECT 'company ' || wallet.company_id FROM billing_wallet wallet WHERE wallet.held <> COALESCE((
  SELECT sum(message.price) FROM channels_message message
  WHERE message.company_id = wallet.company_id
    AND (message.state IN ('queued', 'sent') OR message.is_owed)), 0)

--: I5 receipt: the vendor reported the charged attempt delivered, and the phone got it
SELECT 'message ' || transfer.message_id FROM billing_transfer transfer
WHERE transfer.kind = 'capture' AND transfer.proof = 'receipt' AND NOT EXISTS (
  SELECT FROM channels_attempt attempt JOIN phone_message ON phone_message.attempt_id = attempt.id
  WHERE attempt.message_id = transfer.message_id AND phone_message.has_arrived
    AND transfer.hold = attempt.hold
    AND (attempt.provider IN ('twilio', 'telegram_gateway')  -- polled: leaves no receipt
      OR EXISTS (SELECT FROM channels_receipt receipt
                 WHERE receipt.attempt_id = attempt.id AND receipt.state IN ('delivered', 'read'))))

--: I5 hand-over: charged by hand-over: the vendor has no receipts, and the phone got it
SELECT 'message ' || transfer.message_id FROM billing_transfer transfer
WHERE transfer.kind = 'capture' AND transfer.proof = 'handed_over' AND NOT EXISTS (
  SELECT FROM channels_attempt attempt JOIN phone_message ON phone_message.attempt_id = attempt.id
  WHERE attempt.message_id = transfer.message_id AND attempt.provider = 'telegram_bot'
    AND phone_message.has_arrived AND transfer.hold = attempt.hold)

--: I5 code: charged by a code: it was entered, and a phone had got it
SELECT 'message ' || transfer.message_id FROM billing_transfer transfer
WHERE transfer.kind = 'capture' AND transfer.proof NOT IN ('receipt', 'handed_over')
  AND NOT EXISTS (
    SELECT FROM channels_message message JOIN otp_verification verification
      ON verification.id = message.subject_id
    JOIN channels_message twin ON twin.subject_id = verification.id
    JOIN phone_message ON phone_message.message_id = twin.id AND phone_message.is_readable
    WHERE message.id = transfer.message_id AND transfer.proof = 'code_entered'
      AND verification.verified_at IS NOT NULL)

--: I5 delivered: a message is `delivered` if a phone got it or a vendor reported it, and only then
SELECT 'message ' || message.id FROM channels_message message
WHERE message.state = 'delivered'
  AND NOT EXISTS (SELECT FROM phone_message
                  WHERE phone_message.message_id = message.id AND phone_message.has_arrived)
  AND NOT EXISTS (SELECT FROM billing_transfer transfer
                  WHERE transfer.message_id = message.id AND transfer.proof = 'code_entered')
  AND NOT EXISTS (SELECT FROM channels_fallbackevent fallback_event
                  WHERE fallback_event.message_id = message.id
                    AND fallback_event.reason = 'code_entered')
UNION ALL
SELECT DISTINCT 'message ' || message.id FROM channels_message message
JOIN channels_attempt attempt ON attempt.message_id = message.id
JOIN channels_receipt receipt ON receipt.attempt_id = attempt.id AND receipt.applied_at IS NOT NULL
WHERE receipt.state IN ('delivered', 'read') AND message.state <> 'delivered'

--: I6 one hand-over: a vendor accepts an attempt once; a phone gets a message once per channel
SELECT 'attempt ' || ref FROM phone_message WHERE ref IS NOT NULL
GROUP BY ref HAVING count(*) > 1
UNION ALL
SELECT 'message ' || phone_message.message_id FROM phone_message
LEFT JOIN channels_attempt attempt ON attempt.id = phone_message.attempt_id
WHERE phone_message.message_id IS NOT NULL
GROUP BY phone_message.message_id, attempt.hold HAVING count(*) > 1

--: I6 known: every message on a phone and every receipt belongs to an attempt in the database
SELECT 'phone message ' || id FROM phone_message WHERE attempt_id IS NULL
UNION ALL
SELECT 'receipt ' || id FROM channels_receipt WHERE attempt_id IS NULL

--: I7 one charge: a message is charged once, at its price
SELECT 'message ' || transfer.message_id FROM billing_transfer transfer
LEFT JOIN channels_message message ON message.id = transfer.message_id
WHERE transfer.kind = 'capture' GROUP BY transfer.message_id, message.price
HAVING count(*) > 1 OR sum(transfer.amount) <> message.price OR message.price IS NULL

--: I7 per code: a code proves one delivery, if none is charged; a verification those that arrived
SELECT 'message ' || transfer.message_id
FROM billing_transfer transfer JOIN channels_message message ON message.id = transfer.message_id
WHERE transfer.proof = 'code_entered' AND EXISTS (
  SELECT FROM billing_transfer other JOIN channels_message twin
    ON twin.id = other.message_id AND twin.subject_id = message.subject_id
  WHERE other.kind = 'capture' AND other.id < transfer.id)
UNION ALL
SELECT 'verification ' || message.subject_id
FROM billing_transfer transfer JOIN channels_message message ON message.id = transfer.message_id
WHERE transfer.kind = 'capture' GROUP BY message.subject_id
HAVING count(*) > (SELECT count(*) FROM phone_message JOIN channels_message twin
                   ON twin.id = phone_message.message_id WHERE twin.subject_id = message.subject_id)

--: I8 in time: no message is open 5 s past its deadline, and no call 5 s past its lease
SELECT 'message ' || id FROM channels_message
WHERE ((state IN ('queued', 'sent') OR is_owed) AND deadline < now() - interval '5 s')
  OR finished_at > deadline + interval '5 s'
UNION ALL
SELECT 'attempt ' || id FROM channels_attempt
WHERE state = 'submitting' AND lease_until < now() - interval '5 s'

--: fallback asked for: only messages without a named channel fell back, along their chain
SELECT 'message ' || message.id FROM channels_message message
JOIN accounts_company company ON company.id = message.company_id
WHERE message.hold > 1
  AND (NOT company.falls_back OR message.hold > cardinality(company.fallback_chain))
UNION ALL
SELECT 'attempt ' || attempt.id FROM channels_attempt attempt
JOIN channels_message message ON message.id = attempt.message_id
JOIN accounts_company company ON company.id = message.company_id
WHERE attempt.hold > 1 AND NOT attempt.channel = ANY(company.fallback_chain)
UNION ALL
SELECT 'message ' || message.id FROM channels_message message WHERE message.hold <> 1 + (
  SELECT count(*) FROM channels_fallbackevent fallback_event
  WHERE fallback_event.message_id = message.id AND fallback_event.reason IN ('patience', 'refused'))

--: fallback settled: only delivered messages are owed; only open ones with a chain wait
SELECT 'message ' || id FROM channels_message
WHERE (is_owed AND state <> 'delivered')
  OR (fallback_at IS NOT NULL AND (state NOT IN ('queued', 'sent') OR chain = '[]'))
  OR (fallback_at < now() - interval '5 s')

--: codes once: a code is consumed once, and every response about it is true
SELECT 'verification ' || verification_id FROM client_entry WHERE status = 200
GROUP BY verification_id HAVING count(DISTINCT try) > 1
UNION ALL
SELECT 'verification ' || COALESCE(entry.verification_id::text, 'of ' || entry.try)
FROM client_entry entry LEFT JOIN otp_verification verification
  ON verification.id = entry.verification_id
WHERE entry.status = 200 AND (verification.verified_at IS NULL OR NOT entry.is_correct)

--: correct codes: none is refused as wrong, and of two entered at once one is accepted
SELECT 'entry ' || try FROM client_entry
WHERE is_correct AND code IN ('code_invalid', 'code_not_found', 'invalid_input')
UNION ALL
SELECT 'person ' || person FROM client_entry WHERE is_correct
GROUP BY person
HAVING count(DISTINCT try) > 1 AND bool_and(status IN (200, 422))
  AND count(*) FILTER (WHERE status = 200) = 0
  AND count(*) FILTER (WHERE code = 'code_expired') = 0

--: answers: no 5xx but 502 delivery_failed and 503 unavailable, and no refusal without a reason
SELECT status || ' ' || code || ' to ' || key FROM client_call
WHERE NOT (status IN (0, 200) OR (status, code) IN (
  (402, 'insufficient_tokens'), (409, 'request_in_progress'),
  (422, 'recipient_unreachable'), (502, 'delivery_failed'), (503, 'unavailable'))
  OR (code = 'resend_too_soon' AND key LIKE '%-again'))
UNION ALL
SELECT status || ' ' || code || ' to ' || try FROM client_entry
WHERE NOT (status IN (0, 200) OR (status, code) IN (
  (409, 'request_in_progress'), (422, 'code_invalid'), (422, 'code_used'),
  (422, 'code_expired'), (422, 'code_not_found'), (429, 'too_many_attempts'),
  (503, 'unavailable')))
