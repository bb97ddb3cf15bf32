"""What migrations do with data, tried on the columns that they found."""

from importlib import import_module

from django.db import connection

from accounts.models import Company
from billing.models import AutoTopUp
from tests.billing.orders import automatic
from tests.billing.orders.automatic import agree
from tests.factories import MemberFactory, OrderFactory

fill = import_module("billing.migrations.0030_fill_auto_top_up_currency")
wire, package, payer = automatic.wire, automatic.package, automatic.payer


def test_consents_have_the_currency_of_what_they_buy(payer: Company) -> None:
    ordered, unknown = MemberFactory.create().company, MemberFactory.create().company
    OrderFactory.create(company=ordered, currency="KZT")
    agree(payer)
    for company in (ordered, unknown):
        agree(company, package=None, tokens=100)
    AutoTopUp.objects.update(currency="")

    for _time in range(2):
        with connection.cursor() as cursor:
            cursor.execute(fill.FILL)

    currencies = dict(AutoTopUp.objects.values_list("company", "currency"))
    assert currencies == {payer.pk: "RUB", ordered.pk: "KZT", unknown.pk: ""}
