SELECT message_id, attempt_id FROM (
  SELECT o.message_id, o.attempt_id, o.{at},
    row_number() OVER (PARTITION BY m.company_id ORDER BY o.{at}) AS turn
  FROM ({queue}) AS o JOIN channels_message m ON m.id = o.message_id
  WHERE {messages} AND m.id BETWEEN :first_id AND :last_id AND {not_waiting}) AS ranked
ORDER BY turn, {at} LIMIT %s
