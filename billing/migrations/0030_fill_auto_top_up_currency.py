"""Gives consents to automatic top-ups the currency that they were bought or are offered in."""

from django.db import migrations

# One that nothing tells keeps none: nothing is bought until somebody agrees anew.
FILL = """
UPDATE billing_autotopup AS a SET currency = COALESCE(
  (SELECT p.currency FROM billing_package p WHERE p.id = a.package_id),
  (SELECT o.currency FROM billing_order o JOIN billing_automaticorder b ON b.order_id = o.id
   WHERE o.company_id = a.company_id ORDER BY o.created_at DESC LIMIT 1),
  (SELECT o.currency FROM billing_order o WHERE o.company_id = a.company_id
   ORDER BY o.created_at DESC LIMIT 1), '')
WHERE currency = ''
"""


class Migration(migrations.Migration):
    dependencies = [("billing", "0029_auto_top_up_currency")]

    operations = [migrations.RunSQL(FILL, migrations.RunSQL.noop)]
