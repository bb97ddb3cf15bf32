--: checked
SELECT count(verified_at), COALESCE(sum(attempts), 0) FROM otp_verification
WHERE phone BETWEEN %s AND %s

--: accepted
SELECT count(*), count(transfer.id) FROM channels_message message
LEFT JOIN billing_transfer transfer ON transfer.message_id = message.id AND transfer.hold = 1
  AND transfer.kind = 'hold'
WHERE message.phone BETWEEN %s AND %s

--: delivered
SELECT count(*) FROM channels_message WHERE phone BETWEEN %s AND %s AND state = 'delivered'

--: open
SELECT count(*) FROM channels_message WHERE state IN ('queued', 'sent')
