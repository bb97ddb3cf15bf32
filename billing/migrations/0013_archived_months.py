"""Months in an archive, with their sums."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0007_events_by_month'),
        ('billing', '0012_seals'),
    ]

    operations = [
        migrations.CreateModel(
            name='ArchivedMonth',
            fields=[
                ('month', models.DateField(primary_key=True, serialize=False)),
                ('detached_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('directory', models.TextField(blank=True, db_default='')),
                ('manifest', models.CharField(blank=True, db_default='', max_length=64)),
                ('dropped_at', models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='ArchivedSum',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('top_up', 'top-up'), ('grant', 'granted'), ('withdraw', 'withdrawn'), ('hold', 'held'), ('capture', 'charged'), ('release', 'returned')], max_length=8)),
                ('transfers', models.PositiveBigIntegerField()),
                ('tokens', models.PositiveBigIntegerField()),
                ('last_at', models.DateTimeField()),
                ('company', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.company')),
                ('month', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='sums', to='billing.archivedmonth')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('company', 'month', 'kind'), name='archived_sum_once')],
            },
        ),
    ]
