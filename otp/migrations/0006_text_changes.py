"""A company's texts are carried by its keys: their changes are noted as those of the keys are."""

from django.db import migrations

_CREATE = """
CREATE TRIGGER text_change AFTER INSERT OR UPDATE OR DELETE ON {table} FOR EACH ROW
EXECUTE FUNCTION note_company_change();

CREATE TRIGGER text_truncation AFTER TRUNCATE ON {table} FOR EACH STATEMENT
EXECUTE FUNCTION note_company_change();
"""
_REMOVE = """
DROP TRIGGER text_change ON {table};
DROP TRIGGER text_truncation ON {table};
"""


def _triggers(table: str) -> migrations.RunSQL:
    return migrations.RunSQL(_CREATE.format(table=table), _REMOVE.format(table=table))


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0009_company_changes"),
        ("otp", "0005_guesses_of_recent_months"),
    ]

    operations = [
        # It needs two tables at once: shorter than `deadlock_timeout`, so that of two that wait for
        # each other this one gives up, and tries again.
        migrations.RunSQL("SET LOCAL lock_timeout = '500ms'", migrations.RunSQL.noop),
        _triggers("otp_codetext"),
        _triggers("otp_autofill"),
    ]
