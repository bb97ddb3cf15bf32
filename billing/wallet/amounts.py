"""Formats amounts: «1 234,50 ₽» or "₽1,234.50", and in words as Russian invoices require.

Only Russian needs words, which take forty lines; a library would bring fifty languages.
"""

from decimal import Decimal

from django.utils.formats import number_format

from catalogue.languages import page_languages

NBSP = "\u00a0"
SYMBOLS = {"RUB": "₽", "USD": "$", "EUR": "€", "KZT": "₸"}
_UNITS = ("", "один", "два", "три", "четыре", "пять", "шесть", "семь", "восемь", "девять")
_FEMININE = ("", "одна", "две", *_UNITS[3:])
_TEENS = (
    *("десять", "одиннадцать", "двенадцать", "тринадцать", "четырнадцать"),
    *("пятнадцать", "шестнадцать", "семнадцать", "восемнадцать", "девятнадцать"),
)
_TENS = (
    *("", "", "двадцать", "тридцать", "сорок", "пятьдесят"),
    *("шестьдесят", "семьдесят", "восемьдесят", "девяносто"),
)
_HUNDREDS = (
    *("", "сто", "двести", "триста", "четыреста", "пятьсот"),
    *("шестьсот", "семьсот", "восемьсот", "девятьсот"),
)
# Forms for 1, 2–4 and 5; thousands are feminine.
_RANKS = (
    ("", "", ""),
    ("тысяча", "тысячи", "тысяч"),
    ("миллион", "миллиона", "миллионов"),
    ("миллиард", "миллиарда", "миллиардов"),
)
_RUBLES = ("рубль", "рубля", "рублей")
_KOPECKS = ("копейка", "копейки", "копеек")


def money(amount: Decimal, currency: str) -> str:
    """The amount in the reader's language, «1 234,50 ₽», joined by non-breaking spaces."""
    return _in_currency(number_format(amount, 2, use_l10n=True, force_grouping=True), currency)


def unit_price(price: Decimal, currency: str) -> str:
    """The price of one token, to a hundredth of a cent if it has them."""
    exact = price.quantize(Decimal("0.0001")).normalize()
    places = max(2, -int(exact.as_tuple().exponent))
    return _in_currency(number_format(exact, places, use_l10n=True), currency)


def _in_currency(text: str, currency: str) -> str:
    """English puts the currency first, and its sign without a space: "-₽5.00", "CHF 5.00"."""
    symbol = SYMBOLS.get(currency)
    if page_languages.active() != page_languages.worldwide():
        return f"{text}{NBSP}{symbol or currency}"
    minus = "-" if text.startswith("-") else ""
    return f"{minus}{symbol or currency + NBSP}{text.removeprefix('-')}"


def in_words(amount: Decimal) -> str:
    """«Одна тысяча двести рублей 50 копеек»; below 10¹², rubles only."""
    kopecks = int(amount * 100)
    rubles, rest = divmod(kopecks, 100)
    text = f"{_spell_out(rubles)} {_plural_form(rubles, _RUBLES)}"
    text += f" {rest:02d} {_plural_form(rest, _KOPECKS)}"
    return text[0].upper() + text[1:]


def _spell_out(number: int) -> str:
    parts: list[str] = []
    for rank in reversed(range(len(_RANKS))):
        part = number // 1000**rank % 1000
        if part:
            parts += _below_thousand(part, is_feminine=rank == 1)
            parts += [_plural_form(part, _RANKS[rank])]
    return " ".join(filter(None, parts)) or "ноль"


def _below_thousand(number: int, *, is_feminine: bool) -> list[str]:
    hundreds, rest = divmod(number, 100)
    tens, unit = divmod(rest, 10)
    if tens == 1:
        return [_HUNDREDS[hundreds], _TEENS[unit]]
    return [_HUNDREDS[hundreds], _TENS[tens], (_FEMININE if is_feminine else _UNITS)[unit]]


def _plural_form(number: int, forms: tuple[str, str, str]) -> str:
    if number % 10 == 1 and number % 100 != 11:
        return forms[0]
    if 2 <= number % 10 <= 4 and not 12 <= number % 100 <= 14:
        return forms[1]
    return forms[2]
