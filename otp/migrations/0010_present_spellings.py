"""Rewrites phones stored in a spelling from before their country's renumbering, which nobody looks
up any longer. Old processes may write some more meanwhile; an erasure finds these as well.

Codes that live stay as they are: old processes look for them so, and their MACs hold the phone.
"""

from typing import Any

from django.db import connection, migrations, transaction

from channels import renumbering
from channels.phone_numbers import e164_or_none

CODES = (*renumbering.COUNTRY_CODES, "39")  # and Italy, whose zeros were kept as they came

NEXT_PHONE = """
SELECT phone FROM channels_message WHERE phone > %s AND phone < %s ORDER BY phone LIMIT 1
"""
OTHER_PHONES = """
SELECT phone FROM channels_blockedphone UNION SELECT phone FROM channels_contact
"""
# One code per company, mode and purpose stands for the person: the one under the present number.
SUPERSEDE = """
UPDATE otp_verification v SET superseded_at = now()
WHERE id IN (SELECT subject_id FROM channels_message WHERE phone = %(old)s AND kind = 'code')
  AND phone = %(old)s AND superseded_at IS NULL AND expires_at <= now() AND EXISTS (
    SELECT FROM otp_verification o WHERE o.company_id = v.company_id AND o.mode = v.mode
      AND o.phone = %(new)s AND o.purpose = v.purpose AND o.superseded_at IS NULL)
"""
VERIFICATIONS = """
UPDATE otp_verification SET phone = %(new)s
WHERE id IN (SELECT subject_id FROM channels_message WHERE phone = %(old)s AND kind = 'code')
  AND phone = %(old)s AND expires_at <= now()
"""
MESSAGES = "UPDATE channels_message SET phone = %(new)s WHERE phone = %(old)s"
# A block by the operator outlasts the person's START. Of two contacts the newer one stays.
BLOCKS = (
    """UPDATE channels_blockedphone b SET said_stop = b.said_stop AND o.said_stop
    FROM channels_blockedphone o WHERE b.phone = %(new)s AND o.phone = %(old)s""",
    """DELETE FROM channels_blockedphone WHERE phone = %(old)s
    AND EXISTS (SELECT FROM channels_blockedphone WHERE phone = %(new)s)""",
    "UPDATE channels_blockedphone SET phone = %(new)s WHERE phone = %(old)s",
)
CONTACTS = (
    """DELETE FROM channels_contact c USING channels_contact o
    WHERE (c.phone, o.phone) IN ((%(old)s, %(new)s), (%(new)s, %(old)s))
      AND (c.shared_at, c.id) < (o.shared_at, o.id)""",
    "UPDATE channels_contact SET phone = %(new)s WHERE phone = %(old)s",
)


def respell(_apps: Any, _editor: Any) -> None:
    for phone in _phones_of(OTHER_PHONES, []):
        _respell(phone, *BLOCKS, *CONTACTS)
    for code in CODES:
        phone, end = f"+{code}", f"+{int(code) + 1}"
        while found := _phones_of(NEXT_PHONE, [phone, end]):
            (phone,) = found
            _respell(phone, SUPERSEDE, VERIFICATIONS, MESSAGES)


def _phones_of(statement: str, params: list[str]) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(statement, params)
        return [phone for (phone,) in cursor.fetchall()]


def _respell(phone: str, *statements: str) -> None:
    new = e164_or_none(phone, "")
    if new is None or new == phone:
        return
    with transaction.atomic(), connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement, {"old": phone, "new": new})


class Migration(migrations.Migration):
    atomic = False
    dependencies = [
        ("otp", "0009_early_restrictions"),
        ("channels", "0021_remembered_phone_key_index"),
    ]

    operations = [migrations.RunPython(respell, migrations.RunPython.noop)]
