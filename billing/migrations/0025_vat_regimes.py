"""VAT of the seller by date, and of buyers abroad."""

import django.core.validators
from decimal import Decimal
from django.db import migrations, models


def keep_vat_abroad(apps, schema_editor):
    """Until now everybody was charged the same: the operator decides when that ends."""
    apps.get_model("billing", "Seller").objects.update(charges_vat_abroad=True)


class Migration(migrations.Migration):

    dependencies = [
        ('billing', '0024_documents_language'),
    ]

    operations = [
        migrations.AddField(
            model_name='seller',
            name='charges_vat_abroad',
            field=models.BooleanField(db_default=False, default=False, help_text='off: they are invoiced without VAT, those in the EU with a VAT ID under reverse charge', verbose_name='VAT for buyers abroad, too'),
        ),
        migrations.AlterField(
            model_name='seller',
            name='vat_rate',
            field=models.DecimalField(blank=True, decimal_places=2, help_text='included in the prices; empty: not a VAT payer; counts until the first of the VAT regimes begins', max_digits=4, null=True, validators=[django.core.validators.MinValueValidator(Decimal('0')), django.core.validators.MaxValueValidator(Decimal('99'))], verbose_name='VAT, %'),
        ),
        migrations.CreateModel(
            name='VatRegime',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('since', models.DateField(verbose_name='since')),
                ('regime', models.CharField(choices=[('general', 'general: 22 percent since 2026, 20 before'), ('usn5', 'simplified, 5%'), ('usn7', 'simplified, 7%'), ('exempt', 'without VAT')], max_length=7, verbose_name='regime')),
            ],
            options={
                'verbose_name': 'VAT regime',
                'verbose_name_plural': 'VAT regimes',
                'constraints': [models.UniqueConstraint(fields=('since',), name='vat_regime_once')],
            },
        ),
        migrations.RunPython(keep_vat_abroad, migrations.RunPython.noop, elidable=True),
    ]
