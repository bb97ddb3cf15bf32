"""The queue of open messages, and the triggers that keep it as their messages and attempts are.

Triggers, since processes of 0.1.0 write messages beside the new ones and know of no queue.
"""

from django.db import migrations, models
from django.db.models import deletion

# The processes' role, which the owner of the tables granted its rights: it fires the triggers before
# `grant_privileges` runs again.
GRANTS = """
DO $$
DECLARE writer oid;
BEGIN
  FOR writer IN
    SELECT DISTINCT a.grantee FROM pg_class c, aclexplode(c.relacl) AS a
    WHERE c.oid = 'channels_message'::regclass AND a.privilege_type = 'INSERT'
      AND a.grantee NOT IN (0, c.relowner)
  LOOP
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON channels_openmessage TO %s',
      writer::regrole);
  END LOOP;
END $$;
"""

# A message's open row is written by those alone who hold the message's lock.
FUNCTIONS = """
CREATE FUNCTION enqueue_open_message() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO channels_openmessage
    (message_id, priority, due_at, useful_until, deadline, fallback_at)
  VALUES
    (NEW.id, NEW.priority, NEW.due_at, NEW.useful_until, NEW.deadline, NEW.fallback_at);
  RETURN NULL;
END $$;

CREATE FUNCTION update_open_message() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT (NEW.state::text IN ('queued', 'sent') OR NEW.is_owed) THEN
    DELETE FROM channels_openmessage WHERE message_id = NEW.id;
    RETURN NULL;
  END IF;
  UPDATE channels_openmessage SET priority = NEW.priority, due_at = NEW.due_at,
    useful_until = NEW.useful_until, deadline = NEW.deadline, fallback_at = NEW.fallback_at
  WHERE message_id = NEW.id;
  IF NOT FOUND THEN  -- it is opened again
    INSERT INTO channels_openmessage
      (message_id, priority, due_at, useful_until, deadline, fallback_at, attempt_id)
    SELECT NEW.id, NEW.priority, NEW.due_at, NEW.useful_until, NEW.deadline, NEW.fallback_at,
      a.id
    FROM (SELECT) AS one LEFT JOIN channels_attempt a
      ON a.message_id = NEW.id AND a.state::text IN ('submitting', 'ambiguous', 'sent');
  END IF;
  RETURN NULL;
END $$;

-- For processes of 0.1.0, which do not set it themselves.
CREATE FUNCTION mark_undelivered_message() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE channels_message SET is_undelivered = NOT is_undelivered WHERE id = NEW.id;
  RETURN NULL;
END $$;

-- One message has one open attempt: what `attempt_one_open` kept.
CREATE FUNCTION open_attempt() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE channels_openmessage SET attempt_id = NEW.id
  WHERE message_id = NEW.message_id AND (attempt_id IS NULL OR attempt_id = NEW.id);
  IF NOT FOUND AND EXISTS (SELECT FROM channels_openmessage WHERE message_id = NEW.message_id) THEN
    RAISE EXCEPTION 'message % has an open attempt', NEW.message_id
      USING ERRCODE = 'unique_violation', CONSTRAINT = 'attempt_one_open';
  END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION close_attempt() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE channels_openmessage SET attempt_id = NULL
  WHERE message_id = NEW.message_id AND attempt_id = NEW.id;
  RETURN NULL;
END $$;
"""

_OPEN = "(state::text IN ('queued', 'sent') OR is_owed)"
_UNDELIVERED = "NEW.is_undelivered <> (NEW.state::text IN ('failed', 'expired'))"
_OPEN_ATTEMPT = "state::text IN ('submitting', 'ambiguous', 'sent')"


def _of(row: str, condition: str) -> str:
    return condition.replace("state", f"{row}.state").replace("is_owed", f"{row}.is_owed")


def _tuple(row: str) -> str:
    names = ("priority", "due_at", "useful_until", "deadline", "fallback_at", "is_owed")
    return "(" + ", ".join(f"{row}.{name}" for name in names) + ")"


TRIGGERS = f"""
CREATE TRIGGER enqueue_open_message AFTER INSERT ON channels_message FOR EACH ROW
WHEN ({_of("NEW", _OPEN)}) EXECUTE FUNCTION enqueue_open_message();

CREATE TRIGGER update_open_message AFTER UPDATE ON channels_message FOR EACH ROW
WHEN ({_of("OLD", _OPEN)} <> {_of("NEW", _OPEN)}
  OR ({_of("NEW", _OPEN)} AND {_tuple("OLD")} IS DISTINCT FROM {_tuple("NEW")}))
EXECUTE FUNCTION update_open_message();

CREATE TRIGGER mark_undelivered_message AFTER INSERT OR UPDATE OF state ON channels_message
FOR EACH ROW WHEN ({_UNDELIVERED}) EXECUTE FUNCTION mark_undelivered_message();

CREATE TRIGGER open_attempt_inserted AFTER INSERT ON channels_attempt FOR EACH ROW
WHEN ({_of("NEW", _OPEN_ATTEMPT)}) EXECUTE FUNCTION open_attempt();

CREATE TRIGGER open_attempt_updated AFTER UPDATE ON channels_attempt FOR EACH ROW
WHEN ({_of("NEW", _OPEN_ATTEMPT)} AND NOT {_of("OLD", _OPEN_ATTEMPT)})
EXECUTE FUNCTION open_attempt();

CREATE TRIGGER close_attempt AFTER UPDATE ON channels_attempt FOR EACH ROW
WHEN ({_of("OLD", _OPEN_ATTEMPT)} AND NOT {_of("NEW", _OPEN_ATTEMPT)})
EXECUTE FUNCTION close_attempt();
"""

REMOVE = """
DROP TRIGGER enqueue_open_message ON channels_message;
DROP TRIGGER update_open_message ON channels_message;
DROP TRIGGER mark_undelivered_message ON channels_message;
DROP TRIGGER open_attempt_inserted ON channels_attempt;
DROP TRIGGER open_attempt_updated ON channels_attempt;
DROP TRIGGER close_attempt ON channels_attempt;
DROP FUNCTION enqueue_open_message();
DROP FUNCTION update_open_message();
DROP FUNCTION mark_undelivered_message();
DROP FUNCTION open_attempt();
DROP FUNCTION close_attempt();
"""


SQUAWK_EXCEPTIONS = {"prefer-bigint-over-smallint": "a priority is 0 or 1, and the row is narrow"}


class Migration(migrations.Migration):
    dependencies = [("channels", "0008_drop_descending_history")]

    operations = [
        # It needs two tables at once: shorter than `deadlock_timeout`, so that of two that wait for
        # each other this one gives up, and tries again.
        migrations.RunSQL("SET LOCAL lock_timeout = '500ms'", migrations.RunSQL.noop),
        migrations.CreateModel(
            "OpenMessage",
            [
                (
                    "message",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=deletion.CASCADE,
                        primary_key=True,
                        related_name="open_message",
                        serialize=False,
                        to="channels.message",
                    ),
                ),
                ("priority", models.PositiveSmallIntegerField(db_default=0)),
                ("due_at", models.DateTimeField(null=True)),
                ("useful_until", models.DateTimeField()),
                ("deadline", models.DateTimeField()),
                ("fallback_at", models.DateTimeField(null=True)),
                ("attempt_id", models.UUIDField(null=True)),
            ],
            {
                "indexes": [
                    models.Index(
                        models.F("priority"),
                        models.F("due_at"),
                        condition=models.Q(due_at__isnull=False),
                        name="open_message_due",
                    ),
                    models.Index(fields=["deadline"], name="open_message_deadline"),
                    models.Index(
                        condition=models.Q(fallback_at__isnull=False),
                        fields=["fallback_at"],
                        name="open_message_fallback",
                    ),
                ]
            },
        ),
        migrations.AddField(
            "Message",
            "is_undelivered",
            models.BooleanField(db_default=False, default=False, editable=False),
        ),
        migrations.RunSQL([GRANTS, FUNCTIONS, TRIGGERS], REMOVE),
    ]
