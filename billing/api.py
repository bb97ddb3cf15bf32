"""GET /balance."""

from django.http import HttpResponse
from rest_framework.request import Request

from accounts.api import ApiView, JsonAnswer
from accounts.models import Scope
from billing import ledger

BALANCE = {"ru": "Баланс токенов", "en": "Token balance"}


class Balance(ApiView):
    scope = Scope.BALANCE

    def get(self, request: Request) -> HttpResponse:
        available, held = ledger.balance(self.principal.company_id)
        return JsonAnswer(
            {
                "success": True,
                "message": BALANCE[self.language],
                "available": available,
                "held": held,
            }
        )
