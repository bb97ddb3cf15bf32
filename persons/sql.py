"""Statements about the rows of one person: `person.sql` finds and locks them, the others erase."""

from catalogue.ids import public_id_sql
from channels.models import stored_fields
from otp.sql import without_phone
from storage.statements import sql_files

PERSON = sql_files.read_several("persons/person.sql")
LOCKS = [PERSON[f"lock_{name}"] for name in ("verifications", "links", "messages")]
WHOLE_PHONES = {
    f"{name}s": sql_files.fill(
        sql_files.read("persons/whole_phone.sql"),
        name=name,
        message_key=public_id_sql("msg", "changed.id"),
        verification_key=public_id_sql("otp", "changed.subject_id"),
    )
    for name in stored_fields.NAMES
}
_ERASURE = sql_files.read_several(
    "persons/erasure.sql",
    emptied=stored_fields.EMPTIED,
    purpose=without_phone("purpose", "%(phone)s::text"),
    purpose_of_event=without_phone("(data ->> 'purpose')", "%(phone)s::text"),
)
ERASE = _ERASURE | WHOLE_PHONES
ERASE_EVERYWHERE = sql_files.read_several("persons/erasure_everywhere.sql")


def uses_phone(statement: str) -> bool:
    """Whether it runs for each spelling of the phone: vendors still use former spellings."""
    return "%(phone)s" in statement or "%(digits)s" in statement
