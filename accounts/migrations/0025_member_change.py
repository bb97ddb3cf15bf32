"""What keys may do follows the role of their makers: processes hear of its changes as well."""

from django.db import migrations

TRIGGERS = """
CREATE TRIGGER member_change AFTER INSERT OR DELETE ON accounts_member FOR EACH ROW
EXECUTE FUNCTION note_company_change();

CREATE TRIGGER member_role_change AFTER UPDATE ON accounts_member FOR EACH ROW
WHEN (OLD.role IS DISTINCT FROM NEW.role) EXECUTE FUNCTION note_company_change();
"""

REMOVE = """
DROP TRIGGER member_change ON accounts_member;
DROP TRIGGER member_role_change ON accounts_member;
"""


class Migration(migrations.Migration):
    dependencies = [("accounts", "0024_older_webhook_secrets")]

    operations = [
        migrations.RunSQL(TRIGGERS, REMOVE),
    ]
