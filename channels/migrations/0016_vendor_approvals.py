"""Why an account is paused, and what vendors say of templates and senders."""

import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('channels', '0015_day_breakdowns'),
    ]

    operations = [
        migrations.AddField(
            model_name='provideraccount',
            name='is_paused_with_channel',
            field=models.BooleanField(db_default=False, default=False, editable=False),
        ),
        migrations.AddField(
            model_name='provideraccount',
            name='pause_reason',
            field=models.CharField(blank=True, db_default='', editable=False, max_length=200),
        ),
        migrations.CreateModel(
            name='VendorApproval',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('provider', models.CharField(max_length=40, verbose_name='provider')),
                ('kind', models.CharField(choices=[('template', 'template'), ('sender', 'sender'), ('campaign', 'campaign')], max_length=8, verbose_name='kind')),
                ('name', models.CharField(max_length=120, verbose_name='name')),
                ('language', models.CharField(blank=True, max_length=10, verbose_name='language')),
                ('status', models.CharField(choices=[('approved', 'approved'), ('pending', 'under review'), ('rejected', 'rejected'), ('paused', 'paused'), ('disabled', 'disabled'), ('missing', 'the vendor has none of this name')], max_length=8, verbose_name='state')),
                ('vendor_status', models.CharField(blank=True, max_length=40, verbose_name="the provider's word")),
                ('quality', models.CharField(blank=True, max_length=20, verbose_name='quality')),
                ('reason', models.CharField(blank=True, max_length=300, verbose_name='reason')),
                ('is_used', models.BooleanField(default=False, verbose_name='used by this account')),
                ('changed_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='since')),
                ('seen_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='looked at')),
            ],
            options={
                'verbose_name': 'approval by a provider',
                'verbose_name_plural': 'approvals by providers',
                'constraints': [models.UniqueConstraint(fields=('provider', 'kind', 'name', 'language'), name='vendor_approval_once')],
            },
        ),
    ]
