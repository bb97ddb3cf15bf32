"""How far the messages of a day came, by channel, country, purpose and API key."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

SQUAWK_EXCEPTIONS = {
    "adding-field-with-default": "the statement's time is not volatile: no row is written anew"
}


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0012_routing_policy'),
        ('channels', '0014_message_exports'),
    ]

    operations = [
        migrations.AddField(
            model_name='countedday',
            name='has_breakdown',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name='staleday',
            name='due_at',
            field=models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
        ),
        migrations.CreateModel(
            name='DayBreakdown',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('mode', models.CharField(choices=[('live', 'live'), ('test', 'test')], max_length=4)),
                ('day', models.DateField()),
                ('dimension', models.CharField(choices=[('channel', 'channel'), ('country', 'country'), ('purpose', 'purpose'), ('api_key', 'API key')], max_length=7)),
                ('value', models.CharField(blank=True, max_length=64)),
                ('is_rest', models.BooleanField(default=False)),
                ('asked', models.PositiveIntegerField()),
                ('handed_over', models.PositiveIntegerField()),
                ('delivered', models.PositiveIntegerField()),
                ('linked', models.PositiveIntegerField()),
                ('opened', models.PositiveIntegerField()),
                ('codes', models.PositiveIntegerField()),
                ('entered', models.PositiveIntegerField()),
                ('charged', models.PositiveIntegerField()),
                ('spent', models.PositiveBigIntegerField()),
                ('company', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.company')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('company', 'mode', 'dimension', 'day', 'value', 'is_rest'), name='day_breakdown_once')],
            },
        ),
    ]
