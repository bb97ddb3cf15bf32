-- On the tables of `tools.chaos.checks`.

--: accepted
SELECT count(DISTINCT message_id) FROM client_call WHERE status = 200

--: lost
SELECT count(DISTINCT client_call.message_id) FROM client_call
LEFT JOIN channels_message message ON message.id = client_call.message_id
WHERE client_call.status = 200 AND (message.id IS NULL OR message.state IN ('queued', 'sent'))

--: delivered
SELECT count(*) FROM channels_message WHERE state = 'delivered'

--: expired
SELECT count(*) FROM channels_message WHERE state IN ('expired', 'failed')

--: charged_twice
SELECT count(*) FROM (SELECT message_id FROM billing_transfer WHERE kind = 'capture'
  GROUP BY message_id HAVING count(*) > 1) AS twice

--: sent_twice
SELECT count(*) FROM (SELECT message_id FROM phone_message WHERE message_id IS NOT NULL
  GROUP BY message_id HAVING count(*) > 1) AS twice

--: repeated
SELECT count(*) FROM (SELECT key FROM client_call GROUP BY key HAVING count(*) > 1) AS repeated
