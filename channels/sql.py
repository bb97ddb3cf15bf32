"""SQL statements about messages, from `messages.sql`."""

from catalogue.channels import CHANNELS
from catalogue.ids import public_id_sql
from channels.models import stored_fields
from storage.months.recent_ids import limit_to_months, months_of_last
from storage.statements import sql_files
from webhooks import events

# Rows looked up by another id than the message's are searched only in the months of these days:
# older messages never change.
_DAYS_OF_CHANGE = 100


def in_changeable_months(statement: str) -> str:
    """The statement for messages and receipts that may still change."""
    return limit_to_months(statement, months_of_last(_DAYS_OF_CHANGE))


MESSAGES = sql_files.read_several(
    "channels/messages.sql",
    has_subscribers=events.has_endpoint_sql("message"),
    public_id=public_id_sql("msg", "message.id"),
    stored_texts=", ".join(f"'{name}', NULLIF(message.{name}, '')" for name in stored_fields.NAMES),
    channels_with_segments=", ".join(f"'{item.name}'" for item in CHANNELS if item.has_segments),
    iso_created_at=events.iso_sql("message.created_at"),
    iso_sent_at=events.iso_sql("message.sent_at"),
    iso_delivered_at=events.iso_sql("message.delivered_at"),
    iso_finished_at=events.iso_sql("message.finished_at"),
)
APPEND_MESSAGE_EVENTS = f"WITH {events.append_sql(MESSAGES['events'], has_callback=True)}"
