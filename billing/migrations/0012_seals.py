"""Seals: closed days of transfers, chained by hash."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

# A seal is given to its company: no later one may say otherwise.
FORBID_CHANGES = """
CREATE FUNCTION billing_seal_is_immutable() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'seals are immutable' USING ERRCODE = '23001';
END $$;
CREATE TRIGGER billing_seal_immutable BEFORE UPDATE OR DELETE ON billing_seal
  FOR EACH ROW EXECUTE FUNCTION billing_seal_is_immutable();
CREATE TRIGGER billing_seal_no_truncate BEFORE TRUNCATE ON billing_seal
  FOR EACH STATEMENT EXECUTE FUNCTION billing_seal_is_immutable();
CREATE TRIGGER billing_sealedday_immutable BEFORE UPDATE OR DELETE ON billing_sealedday
  FOR EACH ROW EXECUTE FUNCTION billing_seal_is_immutable();
CREATE TRIGGER billing_sealedday_no_truncate BEFORE TRUNCATE ON billing_sealedday
  FOR EACH STATEMENT EXECUTE FUNCTION billing_seal_is_immutable();
"""
ALLOW_CHANGES = """
DROP TRIGGER billing_sealedday_no_truncate ON billing_sealedday;
DROP TRIGGER billing_sealedday_immutable ON billing_sealedday;
DROP TRIGGER billing_seal_no_truncate ON billing_seal;
DROP TRIGGER billing_seal_immutable ON billing_seal;
DROP FUNCTION billing_seal_is_immutable();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0007_events_by_month'),
        ('billing', '0011_drop_descending_statement'),
    ]

    operations = [
        migrations.CreateModel(
            name='SealedDay',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField(unique=True, verbose_name='day')),
                ('companies', models.IntegerField(verbose_name='companies')),
                ('head', models.CharField(max_length=64, verbose_name='head')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='sealed')),
            ],
            options={
                'verbose_name': 'sealed day',
                'verbose_name_plural': 'sealed days',
            },
        ),
        migrations.CreateModel(
            name='Seal',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField(verbose_name='day')),
                ('parts', models.JSONField(verbose_name='parts')),
                ('transfers', models.BigIntegerField(verbose_name='transfers')),
                ('available', models.BigIntegerField(verbose_name='available')),
                ('held', models.BigIntegerField(verbose_name='held')),
                ('head', models.CharField(max_length=64, verbose_name='head')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='sealed')),
                ('company', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='seals', to='accounts.company', verbose_name='company')),
            ],
            options={
                'verbose_name': 'seal',
                'verbose_name_plural': 'seals',
                'indexes': [models.Index(fields=['day', 'company'], name='seal_of_day')],
                'constraints': [models.UniqueConstraint(fields=('company', 'day'), name='seal_once')],
            },
        ),
        migrations.RunSQL(FORBID_CHANGES, ALLOW_CHANGES),
    ]
