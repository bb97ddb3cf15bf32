-- Locked rows are being claimed.
WITH placed AS (
  SELECT m.id, o.priority %% {behind} + CASE WHEN row_number() OVER (
      PARTITION BY m.company_id ORDER BY o.priority %% {behind}, o.due_at, m.id) > %s
    THEN {behind} ELSE 0 END AS priority
  FROM channels_openmessage o JOIN channels_message m ON m.id = o.message_id
  WHERE o.due_at <= now() AND m.id BETWEEN :first_id AND :last_id),
reordered AS (
  SELECT m.id, placed.priority FROM placed JOIN channels_message m ON m.id = placed.id
  WHERE m.priority <> placed.priority AND m.due_at <= now()
    AND m.id BETWEEN :first_id AND :last_id
  ORDER BY placed.priority LIMIT %s FOR NO KEY UPDATE OF m SKIP LOCKED)
UPDATE channels_message m SET priority = reordered.priority
FROM reordered WHERE m.id = reordered.id AND m.id BETWEEN :first_id AND :last_id
