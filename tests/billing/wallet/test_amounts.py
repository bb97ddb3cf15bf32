"""Sums of money in words and in figures."""

from decimal import Decimal

import pytest
from django.utils import translation

from billing.wallet import amounts


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        ("0.00", "Ноль рублей 00 копеек"),
        ("0.01", "Ноль рублей 01 копейка"),
        ("1.02", "Один рубль 02 копейки"),
        ("2.05", "Два рубля 05 копеек"),
        ("5.11", "Пять рублей 11 копеек"),
        ("11.12", "Одиннадцать рублей 12 копеек"),
        ("21.21", "Двадцать один рубль 21 копейка"),
        ("40.40", "Сорок рублей 40 копеек"),
        ("112.90", "Сто двенадцать рублей 90 копеек"),
        ("1000.00", "Одна тысяча рублей 00 копеек"),
        ("2000.00", "Две тысячи рублей 00 копеек"),
        ("5011.00", "Пять тысяч одиннадцать рублей 00 копеек"),
        ("21101.00", "Двадцать одна тысяча сто один рубль 00 копеек"),
        ("111111.11", "Сто одиннадцать тысяч сто одиннадцать рублей 11 копеек"),
        ("1000000.00", "Один миллион рублей 00 копеек"),
        ("2000001.00", "Два миллиона один рубль 00 копеек"),
        (
            "999999999999.99",
            "Девятьсот девяносто девять миллиардов девятьсот девяносто девять миллионов "
            "девятьсот девяносто девять тысяч девятьсот девяносто девять рублей 99 копеек",
        ),
    ],
)
def test_sum_is_written_in_words(amount: str, text: str) -> None:
    assert amounts.in_words(Decimal(amount)) == text


@pytest.mark.parametrize(
    ("language", "currency", "text"),
    [
        ("ru", "RUB", "1\u00a0234\u00a0567,50\u00a0₽"),
        ("en", "RUB", "₽1,234,567.50"),
        ("en", "USD", "$1,234,567.50"),
        ("en", "CHF", "CHF\u00a01,234,567.50"),
    ],
)
def test_sum_is_written_in_figures(language: str, currency: str, text: str) -> None:
    with translation.override(language):
        assert amounts.money(Decimal("1234567.5"), currency) == text


def test_currency_sign_follows_the_language() -> None:
    with translation.override("en"):
        assert amounts.unit_price(Decimal("1.9"), "RUB") == "₽1.90"
        assert amounts.money(Decimal(-5), "EUR") == "-€5.00"
    with translation.override("ru"):
        assert amounts.unit_price(Decimal("1.9"), "RUB") == "1,90\u00a0₽"
