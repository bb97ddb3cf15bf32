-- Moves waiting messages to the front or the back of the queue; skips locked ones, which are being
-- claimed.
WITH placed AS (
  SELECT message.id, queued.priority %% {behind} + CASE WHEN row_number() OVER (
      PARTITION BY message.company_id
        ORDER BY queued.priority %% {behind}, queued.due_at, message.id) > %s
    THEN {behind} ELSE 0 END AS priority
  FROM channels_openmessage queued JOIN channels_message message ON message.id = queued.message_id
  WHERE queued.due_at <= now() AND message.id BETWEEN :first_id AND :last_id),
reordered AS (
  SELECT message.id, placed.priority
  FROM placed JOIN channels_message message ON message.id = placed.id
  WHERE message.priority <> placed.priority AND message.due_at <= now()
    AND message.id BETWEEN :first_id AND :last_id
  ORDER BY placed.priority LIMIT %s FOR NO KEY UPDATE OF message SKIP LOCKED)
UPDATE channels_message message SET priority = reordered.priority
FROM reordered WHERE message.id = reordered.id AND message.id BETWEEN :first_id AND :last_id
