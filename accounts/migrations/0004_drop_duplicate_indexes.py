"""Drop indexes of which another one of the same table answers every query."""

from django.db import migrations, models

# The first two were made by Django for LIKE on a prefix, which nothing asks of these columns.
DUPLICATES = {
    "accounts_cacheentry_key_bb044f31_like": "accounts_cacheentry (key varchar_pattern_ops)",
    "accounts_usersession_session_key_7ce13c12_like": "accounts_usersession (session_key varchar_pattern_ops)",
    "accounts_auditevent_company_id_3aa5d29e": "accounts_auditevent (company_id)",
    "accounts_idempotentrequest_company_id_c30b440c": "accounts_idempotentrequest (company_id)",
}


def drop(name: str, target: str) -> migrations.RunSQL:
    return migrations.RunSQL(
        f'DROP INDEX CONCURRENTLY IF EXISTS "{name}"',
        f'CREATE INDEX CONCURRENTLY IF NOT EXISTS "{name}" ON {target}',
    )


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("accounts", "0003_patience_by_channel")]

    operations = [
        migrations.SeparateDatabaseAndState(
            [drop(name, target) for name, target in DUPLICATES.items()],
            state_operations=[
                migrations.AlterField(
                    "auditevent",
                    "company",
                    models.ForeignKey(
                        "accounts.company",
                        models.DO_NOTHING,
                        related_name="audit",
                        null=True,
                        db_constraint=False,
                        db_index=False,
                        verbose_name="company",
                    ),
                ),
                migrations.AlterField(
                    "idempotentrequest",
                    "company",
                    models.ForeignKey(
                        "accounts.company",
                        models.CASCADE,
                        related_name="+",
                        db_index=False,
                        verbose_name="company",
                    ),
                ),
            ],
        ),
    ]
