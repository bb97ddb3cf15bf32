from django.conf import settings
from django.db import migrations, models

from channels.phone_numbers import e164_or_none


def spell_as_sent(apps, schema_editor):
    """Rows as they were typed blocked nothing: a send looks its phone up in E.164.

    What can be read is spelled so from now on; what cannot be read, or is there already, goes, and
    the audit log keeps what it was.
    """
    BlockedPhone = apps.get_model("channels", "BlockedPhone")
    AuditEvent = apps.get_model("accounts", "AuditEvent")
    for row in BlockedPhone.objects.exclude(phone__regex=r"^\+[0-9]{5,15}$"):
        number = e164_or_none(row.phone, settings.OPERATOR_COUNTRY)
        if number and not BlockedPhone.objects.filter(phone=number).exists():
            BlockedPhone.objects.filter(pk=row.pk).update(phone=number)
            continue
        if number and not row.said_stop:  # a START may lift the person's STOP, not the operator's
            twin = BlockedPhone.objects.filter(phone=number, said_stop=True)
            twin.update(said_stop=False, reason=row.reason)
        AuditEvent.objects.create(action="blocked_phone.removed", subject=row.phone)
        row.delete()


class Migration(migrations.Migration):

    dependencies = [
        ("accounts", "0007_link_rules"),
        ("channels", "0009_said_stop"),
    ]

    operations = [
        migrations.RunPython(spell_as_sent, migrations.RunPython.noop),
        migrations.AddConstraint(
            model_name="blockedphone",
            constraint=models.CheckConstraint(
                condition=models.Q(("phone__regex", "^\\+[0-9]{5,15}$")),
                name="blocked_phone_is_e164",
            ),
        ),
    ]
