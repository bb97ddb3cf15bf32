--: tokens: charged, by phone
SELECT message.phone, COALESCE(sum(transfer.amount), 0)::bigint
FROM channels_message message JOIN billing_transfer transfer ON transfer.message_id = message.id
  AND transfer.kind = 'capture'
WHERE message.company_id = %s GROUP BY message.phone
