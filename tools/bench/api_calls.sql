--: checked
SELECT count(verified_at), COALESCE(sum(attempts), 0) FROM otp_verification
WHERE phone BETWEEN %s AND %s

--: accepted
SELECT count(*), count(t.id) FROM channels_message m
LEFT JOIN billing_transfer t ON t.message_id = m.id AND t.hold = 1 AND t.kind = 'hold'
WHERE m.phone BETWEEN %s AND %s

--: delivered
SELECT count(*) FROM channels_message WHERE phone BETWEEN %s AND %s AND state = 'delivered'

--: open
SELECT count(*) FROM channels_message WHERE state IN ('queued', 'sent')
