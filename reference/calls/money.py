"""GET /balance, written down."""

from accounts.models import Scope
from billing.api import BALANCE
from reference.shapes import Call, Field, integer

GET_BALANCE = Call(
    "GET",
    "/balance",
    "getBalance",
    ("Баланс", "Balance"),
    (
        "Сколько токенов можно потратить и сколько отложено под сообщения в пути.",
        "How many tokens can be spent, and how many are held for messages under way.",
    ),
    Scope.BALANCE,
    message=(BALANCE["ru"], BALANCE["en"]),
    answer=(
        Field("available", integer(0), ("Можно потратить.", "Can be spent."), 985),
        Field("held", integer(0), ("Отложено.", "Set aside."), 1),
    ),
)

CALLS = (GET_BALANCE,)
