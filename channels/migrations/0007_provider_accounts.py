import django.contrib.postgres.fields
import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('channels', '0006_parts'),
    ]

    operations = [
        migrations.AlterField(
            model_name='attempt',
            name='provider',
            field=models.CharField(max_length=40, verbose_name='provider'),
        ),
        migrations.AlterField(
            model_name='receipt',
            name='provider',
            field=models.CharField(max_length=40, verbose_name='provider'),
        ),
        migrations.CreateModel(
            name='ProviderAccount',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(editable=False, max_length=40, unique=True, verbose_name='name')),
                ('is_enabled', models.BooleanField(db_default=True, default=True, verbose_name='in use')),
                ('position', models.PositiveSmallIntegerField(db_default=0, default=0, help_text='The smallest number is tried first.', verbose_name='place in the order')),
                ('weight', models.PositiveSmallIntegerField(db_default=1, default=1, help_text='Accounts of the same order share messages in this proportion.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(1000)], verbose_name='share of messages')),
                ('prefixes', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=16, validators=[django.core.validators.RegexValidator('^\\+[1-9][0-9]{0,14}$', 'Like +7701: a plus and digits.')]), blank=True, db_default=[], default=list, help_text='Prefixes with commas between, +7701, +7702; none: every phone.', size=200, verbose_name='phones')),
                ('max_per_second', models.PositiveIntegerField(blank=True, null=True, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(10000)], verbose_name='messages per second, at most')),
                ('opened_at', models.DateTimeField(editable=False, null=True, verbose_name='breaker opened')),
                ('open_until', models.DateTimeField(editable=False, null=True)),
                ('probed_at', models.DateTimeField(editable=False, null=True)),
                ('trips', models.PositiveIntegerField(db_default=0, default=0, editable=False)),
                ('reason', models.CharField(blank=True, db_default='', editable=False, max_length=200)),
                ('tat', models.DateTimeField(editable=False, null=True)),
            ],
            options={
                'verbose_name': 'provider account',
                'verbose_name_plural': 'provider accounts',
                'constraints': [models.CheckConstraint(condition=models.Q(('weight__gte', 1)), name='account_weight'), models.CheckConstraint(condition=models.Q(('max_per_second__isnull', True), ('max_per_second__gte', 1), _connector='OR'), name='account_rate')],
            },
        ),
    ]
