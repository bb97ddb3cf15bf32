--: uncharged: messages that reached a phone uncharged, and why; only the last reason is a fault
SELECT message.id::text, CASE
  WHEN EXISTS (
      SELECT FROM channels_receipt receipt
        JOIN channels_attempt attempt ON attempt.id = receipt.attempt_id
      WHERE attempt.message_id = message.id
        AND receipt.state IN ('failed', 'unreachable', 'expired')
        AND NOT EXISTS (
          SELECT FROM channels_receipt delivered
          WHERE delivered.attempt_id = attempt.id AND delivered.state IN ('delivered', 'read')
            AND delivered.id < receipt.id))
    THEN 'the vendor had said that it failed'
  WHEN attempt.hold < message.hold THEN 'another channel had been tried by then'
  WHEN phone_message.provider = 'telegram_bot'
    THEN 'the answer was lost, and this vendor has no receipts'
  WHEN 'no_receipt' = ANY(phone_message.faults) AND attempt.provider_id IS NULL
    THEN phone_message.provider
      || ': the answer and all receipts were lost, so there is no id to ask by'
  ELSE 'could have been proved' END
FROM phone_message JOIN channels_message message ON message.id = phone_message.message_id
LEFT JOIN channels_attempt attempt ON attempt.id = phone_message.attempt_id
WHERE phone_message.has_arrived AND NOT EXISTS (
  SELECT FROM billing_transfer transfer
  WHERE transfer.message_id = message.id AND transfer.kind = 'capture')
ORDER BY 1

--: timeline: of one message, to see why it was not charged
SELECT concat_ws(' ', message.channel, message.kind, message.state, message.error, 'made',
  message.created_at::time(2), 'deadline', message.deadline::time(2),
  'finished', message.finished_at::time(2),
  (SELECT string_agg(concat_ws(' ', '| attempt', attempt.n, attempt.state, attempt.error_class,
     attempt.error_code, 'polls', attempt.polls, 'id', attempt.provider_id IS NOT NULL,
     attempt.started_at::time(2), attempt.accepted_at::time(2), attempt.finished_at::time(2)), ' ')
   FROM channels_attempt attempt WHERE attempt.message_id = message.id),
  (SELECT string_agg(concat_ws(' ', '| receipt', receipt.id, receipt.state, 'came',
     receipt.received_at::time(2), 'applied', receipt.applied_at::time(2)), ' ' ORDER BY receipt.id)
   FROM channels_receipt receipt JOIN channels_attempt attempt ON attempt.id = receipt.attempt_id
   WHERE attempt.message_id = message.id),
  (SELECT string_agg(concat_ws(' ', '| phone', phone_message.state, phone_message.faults::text,
     'told', phone_message.is_told), ' ')
   FROM phone_message WHERE phone_message.message_id = message.id))
FROM channels_message message WHERE message.id = %s
