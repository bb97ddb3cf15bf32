"""A snapshot of everything that a refused call must not change."""

from typing import Any

from django.apps import apps

from billing.models import Wallet

APPS = ("billing", "channels", "otp", "links")


def books() -> dict[str, Any]:
    """The rows of each table, the balance of each wallet, and the remembered calls."""
    models = [model for app in APPS for model in apps.get_app_config(app).get_models()]
    models.append(apps.get_model("api", "IdempotentRequest"))
    rows: dict[str, Any] = {model.__name__: model._default_manager.count() for model in models}
    wallets = Wallet.objects.order_by("company_id").values_list("company_id", "available", "held")
    return rows | {"wallets": list(wallets)}
