--: tokens: charged, by phone
SELECT m.phone, COALESCE(sum(t.amount), 0)::bigint
FROM channels_message m JOIN billing_transfer t ON t.message_id = m.id AND t.kind = 'capture'
WHERE m.company_id = %s GROUP BY m.phone
