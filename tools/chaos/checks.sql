--: uncharged: messages that reached a phone uncharged, and why; only the last reason is a fault
SELECT m.id::text, CASE
  WHEN EXISTS (SELECT FROM channels_receipt r JOIN channels_attempt a ON a.id = r.attempt_id
               WHERE a.message_id = m.id AND r.state IN ('failed', 'unreachable', 'expired')
                 AND NOT EXISTS (SELECT FROM channels_receipt d WHERE d.attempt_id = a.id
                                 AND d.state IN ('delivered', 'read') AND d.id < r.id))
    THEN 'the vendor had said that it failed'
  WHEN a.hold < m.hold THEN 'another channel had been tried by then'
  WHEN p.provider = 'telegram_bot' THEN 'the answer was lost, and this vendor has no receipts'
  WHEN 'no_receipt' = ANY(p.faults) AND a.provider_id IS NULL
    THEN p.provider || ': the answer and all receipts were lost, so there is no id to ask by'
  ELSE 'could have been proved' END
FROM phone_message p JOIN channels_message m ON m.id = p.message_id
LEFT JOIN channels_attempt a ON a.id = p.attempt_id
WHERE p.has_arrived AND NOT EXISTS (
  SELECT FROM billing_transfer t WHERE t.message_id = m.id AND t.kind = 'capture')
ORDER BY 1

--: timeline: of one message, to see why it was not charged
SELECT concat_ws(' ', m.channel, m.kind, m.state, m.error, 'made', m.created_at::time(2),
  'deadline', m.deadline::time(2), 'finished', m.finished_at::time(2),
  (SELECT string_agg(concat_ws(' ', '| attempt', a.n, a.state, a.error_class, a.error_code,
     'polls', a.polls, 'id', a.provider_id IS NOT NULL, a.started_at::time(2),
     a.accepted_at::time(2), a.finished_at::time(2)), ' ')
   FROM channels_attempt a WHERE a.message_id = m.id),
  (SELECT string_agg(concat_ws(' ', '| receipt', r.id, r.state, 'came', r.received_at::time(2),
     'applied', r.applied_at::time(2)), ' ' ORDER BY r.id)
   FROM channels_receipt r JOIN channels_attempt a ON a.id = r.attempt_id
   WHERE a.message_id = m.id),
  (SELECT string_agg(concat_ws(' ', '| phone', p.state, p.faults::text, 'told', p.is_told), ' ')
   FROM phone_message p WHERE p.message_id = m.id))
FROM channels_message m WHERE m.id = %s
