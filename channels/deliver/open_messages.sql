-- Triggers that mirror messages and attempts in the queue of open messages. A row of the queue is
-- written under its message's lock.

CREATE OR REPLACE FUNCTION enqueue_open_message() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO channels_openmessage
    (message_id, priority, due_at, useful_until, deadline, fallback_at, route_key)
  VALUES
    (NEW.id, NEW.priority, NEW.due_at, NEW.useful_until, NEW.deadline, NEW.fallback_at,
     concat_ws(' ', NEW.mode, NEW.channel, NEW.content));
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION update_open_message() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT (NEW.state::text IN ('queued', 'sent') OR NEW.is_owed) THEN
    DELETE FROM channels_openmessage WHERE message_id = NEW.id;
    RETURN NULL;
  END IF;
  UPDATE channels_openmessage SET priority = NEW.priority, due_at = NEW.due_at,
    useful_until = NEW.useful_until, deadline = NEW.deadline, fallback_at = NEW.fallback_at,
    route_key = concat_ws(' ', NEW.mode, NEW.channel, NEW.content)
  WHERE message_id = NEW.id;
  IF NOT FOUND THEN  -- it is opened again
    INSERT INTO channels_openmessage
      (message_id, priority, due_at, useful_until, deadline, fallback_at, route_key, attempt_id)
    SELECT NEW.id, NEW.priority, NEW.due_at, NEW.useful_until, NEW.deadline, NEW.fallback_at,
      concat_ws(' ', NEW.mode, NEW.channel, NEW.content), attempt.id
    FROM (SELECT) AS one_row LEFT JOIN channels_attempt attempt
      ON attempt.message_id = NEW.id AND attempt.state::text IN ('submitting', 'ambiguous', 'sent');
  END IF;
  RETURN NULL;
END $$;

-- A message has at most one open attempt.
CREATE OR REPLACE FUNCTION open_attempt() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE channels_openmessage SET attempt_id = NEW.id
  WHERE message_id = NEW.message_id AND (attempt_id IS NULL OR attempt_id = NEW.id);
  IF NOT FOUND AND EXISTS (SELECT FROM channels_openmessage WHERE message_id = NEW.message_id) THEN
    RAISE EXCEPTION 'message % has an open attempt', NEW.message_id
      USING ERRCODE = 'unique_violation', CONSTRAINT = 'attempt_one_open';
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION close_attempt() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE channels_openmessage SET attempt_id = NULL
  WHERE message_id = NEW.message_id AND attempt_id = NEW.id;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER enqueue_open_message AFTER INSERT ON channels_message FOR EACH ROW
WHEN (NEW.state::text IN ('queued', 'sent') OR NEW.is_owed) EXECUTE FUNCTION enqueue_open_message();

CREATE OR REPLACE TRIGGER update_open_message AFTER UPDATE ON channels_message FOR EACH ROW
WHEN (
  (OLD.state::text IN ('queued', 'sent') OR OLD.is_owed)
    <> (NEW.state::text IN ('queued', 'sent') OR NEW.is_owed)
  OR (
    (NEW.state::text IN ('queued', 'sent') OR NEW.is_owed)
    AND (OLD.priority, OLD.due_at, OLD.useful_until, OLD.deadline, OLD.fallback_at, OLD.is_owed,
        OLD.channel)
      IS DISTINCT FROM
      (NEW.priority, NEW.due_at, NEW.useful_until, NEW.deadline, NEW.fallback_at, NEW.is_owed,
        NEW.channel)
  )
)
EXECUTE FUNCTION update_open_message();

CREATE OR REPLACE TRIGGER open_attempt_inserted AFTER INSERT ON channels_attempt FOR EACH ROW
WHEN (NEW.state::text IN ('submitting', 'ambiguous', 'sent')) EXECUTE FUNCTION open_attempt();

CREATE OR REPLACE TRIGGER open_attempt_updated AFTER UPDATE ON channels_attempt FOR EACH ROW
WHEN (NEW.state::text IN ('submitting', 'ambiguous', 'sent')
  AND NOT OLD.state::text IN ('submitting', 'ambiguous', 'sent'))
EXECUTE FUNCTION open_attempt();

CREATE OR REPLACE TRIGGER close_attempt AFTER UPDATE ON channels_attempt FOR EACH ROW
WHEN (OLD.state::text IN ('submitting', 'ambiguous', 'sent')
  AND NOT NEW.state::text IN ('submitting', 'ambiguous', 'sent'))
EXECUTE FUNCTION close_attempt();
