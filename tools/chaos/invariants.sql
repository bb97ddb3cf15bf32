-- Invariants that hold after every run, whatever was killed: each query returns violations. I1 to
-- I8 are the numbers of the design. They also read the tables of `external_records`.

--: I1 answered: every order is answered definitely in the end
SELECT 'order ' || o.key FROM client_order o WHERE NOT EXISTS (
  SELECT FROM client_call c
  WHERE c.key = o.key AND c.status NOT IN (0, 409, 500, 503))

--: I1 kept: a message named in an answer is in the database, for that company and phone
SELECT DISTINCT 'order ' || c.key FROM client_call c JOIN client_order o USING (key)
LEFT JOIN channels_message m
  ON m.id = c.message_id AND m.company_id = o.company_id AND m.phone = o.phone
WHERE c.is_kept AND m.id IS NULL

--: I1 tried: each accepted message was handed to a vendor, or that was tried, or its code entered
SELECT 'message ' || m.id FROM channels_message m
WHERE m.state NOT IN ('queued', 'sent') AND m.tries = 0
  AND NOT EXISTS (SELECT FROM channels_fallbackevent e
                  WHERE e.message_id = m.id AND e.reason = 'code_entered')

--: I2 one message: one Idempotency-Key makes one message
SELECT 'order ' || key FROM client_call WHERE message_id IS NOT NULL
GROUP BY key HAVING count(DISTINCT message_id) > 1
UNION ALL
SELECT 'message ' || m.id FROM channels_message m
LEFT JOIN api_idempotentrequest i ON i.subject_id = m.id
GROUP BY m.id HAVING count(i.id) <> 1
UNION ALL
SELECT 'key ' || key FROM api_idempotentrequest
GROUP BY company_id, mode, path, key HAVING count(*) > 1
UNION ALL
SELECT 'phone ' || m.phone FROM channels_message m GROUP BY m.company_id, m.phone
HAVING count(*) > (SELECT count(*) FROM client_order o
                   WHERE o.company_id = m.company_id AND o.phone = m.phone)

--: I2 one answer: one Idempotency-Key has one answer, to the byte
SELECT 'order ' || c.key FROM client_call c WHERE c.is_kept
GROUP BY c.key HAVING count(DISTINCT c.status || c.body) > 1
UNION ALL
SELECT 'order ' || c.key FROM client_call c JOIN client_order o USING (key)
LEFT JOIN api_idempotentrequest i
  ON i.company_id = o.company_id AND i.path = o.path AND i.key = o.key
WHERE c.is_kept AND (i.status, i.body) IS DISTINCT FROM (c.status, c.body)

--: I3 resolved once: a message has a hold per tried channel; only the last may be open
SELECT 'message ' || m.id FROM channels_message m
LEFT JOIN billing_transfer t ON t.message_id = m.id
GROUP BY m.id
HAVING count(*) FILTER (WHERE t.kind = 'hold') <> m.hold
  OR count(*) FILTER (WHERE t.kind IN ('capture', 'release'))
     <> m.hold - (m.state IN ('queued', 'sent') OR m.is_owed)::int

--: I4 wallets: a wallet is the sum of its transfers, and never below zero
SELECT 'company ' || w.company_id FROM billing_wallet w
LEFT JOIN (SELECT company_id, kind, amount FROM billing_transfer UNION ALL
           SELECT company_id, kind, tokens FROM billing_archivedsum) t
  ON t.company_id = w.company_id
GROUP BY w.company_id
HAVING w.available < 0 OR w.held < 0
  OR w.available <> COALESCE(sum(CASE
       WHEN t.kind IN ('grant', 'top_up', 'release') THEN t.amount
       WHEN t.kind IN ('withdraw', 'hold') THEN -t.amount ELSE 0 END), 0)
  OR w.held <> COALESCE(sum(CASE WHEN t.kind = 'hold' THEN t.amount
       WHEN t.kind IN ('capture', 'release') THEN -t.amount ELSE 0 END), 0)

--: I4 holds: a wallet holds exactly the price of its open messages
SELECT 'company ' || w.company_id FROM billing_wallet w WHERE w.held <> COALESCE((
  SELECT sum(m.price) FROM channels_message m
  WHERE m.company_id = w.company_id
    AND (m.state IN ('queued', 'sent') OR m.is_owed)), 0)

--: I5 receipt: the vendor reported the charged attempt delivered, and the phone got it
SELECT 'message ' || t.message_id FROM billing_transfer t
WHERE t.kind = 'capture' AND t.proof = 'receipt' AND NOT EXISTS (
  SELECT FROM channels_attempt a JOIN phone_message p ON p.attempt_id = a.id
  WHERE a.message_id = t.message_id AND p.has_arrived AND t.hold = a.hold
    AND (a.provider IN ('twilio', 'telegram_gateway')  -- polled: leaves no receipt
      OR EXISTS (SELECT FROM channels_receipt r
                 WHERE r.attempt_id = a.id AND r.state IN ('delivered', 'read'))))

--: I5 hand-over: charged by hand-over: the vendor has no receipts, and the phone got it
SELECT 'message ' || t.message_id FROM billing_transfer t
WHERE t.kind = 'capture' AND t.proof = 'handed_over' AND NOT EXISTS (
  SELECT FROM channels_attempt a JOIN phone_message p ON p.attempt_id = a.id
  WHERE a.message_id = t.message_id AND a.provider = 'telegram_bot' AND p.has_arrived
    AND t.hold = a.hold)

--: I5 code: charged by a code: it was entered, and a phone had got it
SELECT 'message ' || t.message_id FROM billing_transfer t
WHERE t.kind = 'capture' AND t.proof NOT IN ('receipt', 'handed_over') AND NOT EXISTS (
  SELECT FROM channels_message m JOIN otp_verification v ON v.id = m.subject_id
  JOIN channels_message twin ON twin.subject_id = v.id
  JOIN phone_message p ON p.message_id = twin.id AND p.is_readable
  WHERE m.id = t.message_id AND t.proof = 'code_entered' AND v.verified_at IS NOT NULL)

--: I5 delivered: a message is `delivered` if a phone got it or a vendor reported it, and only then
SELECT 'message ' || m.id FROM channels_message m
WHERE m.state = 'delivered'
  AND NOT EXISTS (SELECT FROM phone_message p WHERE p.message_id = m.id AND p.has_arrived)
  AND NOT EXISTS (SELECT FROM billing_transfer t
                  WHERE t.message_id = m.id AND t.proof = 'code_entered')
  AND NOT EXISTS (SELECT FROM channels_fallbackevent n
                  WHERE n.message_id = m.id AND n.reason = 'code_entered')
UNION ALL
SELECT DISTINCT 'message ' || m.id FROM channels_message m
JOIN channels_attempt a ON a.message_id = m.id
JOIN channels_receipt r ON r.attempt_id = a.id AND r.applied_at IS NOT NULL
WHERE r.state IN ('delivered', 'read') AND m.state <> 'delivered'

--: I6 one hand-over: a vendor accepts an attempt once; a phone gets a message once per channel
SELECT 'attempt ' || ref FROM phone_message WHERE ref IS NOT NULL
GROUP BY ref HAVING count(*) > 1
UNION ALL
SELECT 'message ' || p.message_id FROM phone_message p
LEFT JOIN channels_attempt a ON a.id = p.attempt_id
WHERE p.message_id IS NOT NULL GROUP BY p.message_id, a.hold HAVING count(*) > 1

--: I6 known: every message on a phone and every receipt belongs to an attempt in the database
SELECT 'phone message ' || id FROM phone_message WHERE attempt_id IS NULL
UNION ALL
SELECT 'receipt ' || id FROM channels_receipt WHERE attempt_id IS NULL

--: I7 one charge: a message is charged once, at its price
SELECT 'message ' || t.message_id FROM billing_transfer t
LEFT JOIN channels_message m ON m.id = t.message_id
WHERE t.kind = 'capture' GROUP BY t.message_id, m.price
HAVING count(*) > 1 OR sum(t.amount) <> m.price OR m.price IS NULL

--: I7 per code: a code proves one delivery, if none is charged; a verification those that arrived
SELECT 'message ' || t.message_id
FROM billing_transfer t JOIN channels_message m ON m.id = t.message_id
WHERE t.proof = 'code_entered' AND EXISTS (
  SELECT FROM billing_transfer other JOIN channels_message twin
    ON twin.id = other.message_id AND twin.subject_id = m.subject_id
  WHERE other.kind = 'capture' AND other.id < t.id)
UNION ALL
SELECT 'verification ' || m.subject_id
FROM billing_transfer t JOIN channels_message m ON m.id = t.message_id
WHERE t.kind = 'capture' GROUP BY m.subject_id
HAVING count(*) > (SELECT count(*) FROM phone_message p JOIN channels_message twin
                   ON twin.id = p.message_id WHERE twin.subject_id = m.subject_id)

--: I8 in time: no message is open 5 s past its deadline, and no call 5 s past its lease
SELECT 'message ' || id FROM channels_message
WHERE ((state IN ('queued', 'sent') OR is_owed) AND deadline < now() - interval '5 s')
  OR finished_at > deadline + interval '5 s'
UNION ALL
SELECT 'attempt ' || id FROM channels_attempt
WHERE state = 'submitting' AND lease_until < now() - interval '5 s'

--: fallback asked for: only messages without a named channel fell back, along their chain
SELECT 'message ' || m.id FROM channels_message m
JOIN accounts_company c ON c.id = m.company_id
WHERE m.hold > 1 AND (NOT c.falls_back OR m.hold > cardinality(c.fallback_chain))
UNION ALL
SELECT 'attempt ' || a.id FROM channels_attempt a
JOIN channels_message m ON m.id = a.message_id
JOIN accounts_company c ON c.id = m.company_id
WHERE a.hold > 1 AND NOT a.channel = ANY(c.fallback_chain)
UNION ALL
SELECT 'message ' || m.id FROM channels_message m WHERE m.hold <> 1 + (
  SELECT count(*) FROM channels_fallbackevent n
  WHERE n.message_id = m.id AND n.reason IN ('patience', 'refused'))

--: fallback settled: only delivered messages are owed; only open ones with a chain wait
SELECT 'message ' || id FROM channels_message
WHERE (is_owed AND state <> 'delivered')
  OR (fallback_at IS NOT NULL AND (state NOT IN ('queued', 'sent') OR chain = '[]'))
  OR (fallback_at < now() - interval '5 s')

--: codes once: a code is consumed once, and every response about it is true
SELECT 'verification ' || verification_id FROM client_entry WHERE status = 200
GROUP BY verification_id HAVING count(DISTINCT try) > 1
UNION ALL
SELECT 'verification ' || COALESCE(e.verification_id::text, 'of ' || e.try)
FROM client_entry e LEFT JOIN otp_verification v ON v.id = e.verification_id
WHERE e.status = 200 AND (v.verified_at IS NULL OR NOT e.is_correct)

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
