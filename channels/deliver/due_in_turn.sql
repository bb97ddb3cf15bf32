-- Due messages, a company's first ones before any company's second ones. Placeholders: `at` is the
-- queue's time, `queue` selects what is due, `messages` and `not_waiting` are conditions.
SELECT message_id, attempt_id FROM (
  SELECT queued.message_id, queued.attempt_id, queued.{at},
    row_number() OVER (PARTITION BY message.company_id ORDER BY queued.{at}) AS turn
  FROM ({queue}) AS queued JOIN channels_message message ON message.id = queued.message_id
  WHERE {messages} AND message.id BETWEEN :first_id AND :last_id AND {not_waiting}) AS ranked
ORDER BY turn, {at} LIMIT %s
