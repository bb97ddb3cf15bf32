"""Names of links: how they are generated, and which are refused."""

import re

import pytest
from django.http import HttpResponse
from django.urls import URLPattern, URLResolver, include, path, re_path
from django.utils import translation

from catalogue.errors import DomainError, Error
from links.addresses import aliases, mistyped_slugs, slugs


def view(_request: object) -> HttpResponse:
    return HttpResponse()


urlpatterns: list[URLPattern | URLResolver] = [
    path("", view),
    path("pricing", view),
    path("Cabinet2/", include([path("keys", view)])),
    path("", include([path("terms/", view), path("", include([path("deep/er", view)]))])),
    re_path(r"^readyz/?$", view),
    re_path(r"^apple\-touch\-icon", view),
    re_path(r"^(?P<anything>.+)/raw$", view),
    path("<str:slug>", view),
]


def words_of(alias: object) -> str:
    with pytest.raises(DomainError) as refusal:
        aliases.check(alias)

    assert refusal.value.error is Error.INVALID_INPUT
    assert refusal.value.errors is not None
    (text,) = refusal.value.errors["alias"]
    with translation.override("en"):
        return str(text)


def test_generated_slug_has_the_length_and_the_letters() -> None:
    slug = slugs.generate(10)

    assert re.fullmatch(f"[{slugs.ALPHABET}]{{10}}", slug)


def test_generated_slugs_differ() -> None:
    assert len({slugs.generate(8) for _ in range(1000)}) == 1000


def test_alphabet_excludes_vowels_and_lookalikes() -> None:
    assert len(set(slugs.ALPHABET)) == 49
    assert not set(slugs.ALPHABET) & set("aeiouAEIOU01lI")


@pytest.mark.parametrize(
    ("alias", "key"),
    [
        ("abc", "abc"),
        ("Summer-Sale_2026", "summer-sale_2026"),
        ("A" * 64, "a" * 64),
        ("123", "123"),
        ("123456789", "123456789"),
        ("1234a", "1234a"),
    ],
)
def test_alias_is_looked_up_in_lower_case(alias: str, key: str) -> None:
    assert aliases.check(alias) == key


@pytest.mark.parametrize(
    "alias",
    [
        "",
        "ab",
        "a" * 65,
        "abc-",
        "abc_",
        "a.b",
        "a/b",
        "скидка",
        "ａbc",
        "abc\u200b",
        None,
        123456789,
        ["abc"],
        "wp-login.php",
        ".well-known",
        "a..b",
        "abc\0",
        "ａｄｍｉｎ",
        "a\u0301bc",
        "٣٤٥٦",
        "\u202eabc",
        {"abc": 1},
        b"abc",
    ],
)
def test_alias_of_another_shape_is_refused_with_the_rule(alias: object) -> None:
    assert words_of(alias).startswith("3–64 characters")


@pytest.mark.parametrize("alias", ["1234", "12345678"])
def test_alias_that_reads_as_a_code_is_refused(alias: str) -> None:
    assert "reads as a code" in words_of(alias)


@pytest.mark.parametrize(
    "alias",
    [
        "api",
        "API",
        "admin",
        "static",
        "otp",
        "undefined",
        "pricing",
        "Pricing",
        "cabinet2",
        "terms",
        "deep",
        "readyz",
        "apple-touch-icon",
        "HeAlTh",
        "WWW",
        "nUlL",
        "Login",
        "LOGOUT",
        "Cabinet",
        "HOOKS",
        "Docs",
        "Schema",
        "Metrics",
        "apple-app-site-association",
    ],
)
@pytest.mark.urls("tests.links.addresses.test_slugs")
def test_words_of_the_service_and_of_its_routes_are_reserved(alias: str) -> None:
    assert "is reserved" in words_of(alias)


@pytest.mark.parametrize(
    "alias",
    [
        "Sign-In",
        "s1gn1n",
        "password",
        "passw0rd",
        "verify",
        "b1ll1ng",
        "support",
        "5upport",
        "KV1T0K",
        "kvitok-sale",
        "auth",
        "secure",
        "pay",
        "help",
        "rnail",
        "brand",
        "account-verify",
        "cab1net",
        "p4y",
        "1ogin",
    ],
)
def test_name_that_reads_as_a_page_of_the_service_is_refused(alias: str) -> None:
    assert "is reserved" in words_of(alias)


@pytest.mark.parametrize(
    "alias", ["sale", "pay-day", "support4you", "helpful", "verify-me-2026", "kvit", "order-7"]
)
def test_alias_that_only_contains_a_reserved_word_is_allowed(alias: str) -> None:
    assert aliases.check(alias) == alias


@pytest.mark.parametrize("alias", ["keys", "raw", "slug", "terms2", "apis", "str-slug"])
@pytest.mark.urls("tests.links.addresses.test_slugs")
def test_only_first_segments_are_reserved(alias: str) -> None:
    assert aliases.check(alias) == alias


@pytest.mark.parametrize(
    "followed",
    [
        "Xk7PqR2m",
        "Xk7PqR2m.",
        "Xk7PqR2m).",
        "Xk7PqR2m»",
        "Xk7PqR2m%22",
        "Xk7PqR2m%E2%80%9D",
        "Xk7PqR2m\u200b",
        "\u2060Xk7P\u200bqR2m\ufeff.",
        "Xk7PqR2m”".encode().decode("latin-1"),
        "Xk7PqR2m\u200b".encode().decode("latin-1"),
        "Xk7PqR2m&utm_source=sms&utm_medium=x",
        "Xk7PqR2m%3Futm_source=mail",
        "Xk7PqR2m?a=b#c",
        "Xk7PqR2m;jsessionid=1",
    ],
)
def test_trailing_punctuation_is_ignored(followed: str) -> None:
    assert mistyped_slugs.repair(followed) == "Xk7PqR2m"


@pytest.mark.parametrize(
    "followed",
    [
        "",
        "...",
        "favicon.ico",
        "Xk7 PqR2m",
        "a" * 65,
        "a" * 300,
        "&utm_source=sms",
        "ab?cdef",
        "abc\0d",
    ],
)
def test_impossible_slug_is_not_repaired(followed: str) -> None:
    assert mistyped_slugs.repair(followed) is None
