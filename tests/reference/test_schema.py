"""The OpenAPI schema: whole, valid, in two languages, and open to everyone."""

import json
import warnings
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from drf_spectacular.validation import validate_schema

import config.api
from config.errors import Error
from reference.api import document
from reference.calls import BY_ROUTE
from reference.shapes import Call

LANGUAGES = ["ru", "en"]


def schema(language: str) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(document(language))
    return made


def routes() -> set[tuple[str, str]]:
    """What the URLconf answers to, by the views' own methods."""
    found = set()
    for path, view in config.api.CALLS:
        plain = "/" + path.replace("(?P<public_id>[^/]+)", "{id}")
        methods = {name.upper() for name in view.http_method_names if hasattr(view, name)}
        found |= {(method, plain) for method in methods - {"HEAD"}}
    return found


def test_every_call_is_described_and_no_other() -> None:
    assert set(BY_ROUTE) == routes()


@pytest.mark.parametrize("language", LANGUAGES)
def test_schema_is_valid_openapi(language: str) -> None:
    made = schema(language)

    validate_schema(made)  # type: ignore[no-untyped-call]
    operations = {
        (method.upper(), path) for path, calls in made["paths"].items() for method in calls
    }
    assert operations == set(BY_ROUTE)


def test_command_finds_nothing_to_warn_of(capsys: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call_command("spectacular", "--validate", "--fail-on-warn")

    assert "openapi: 3.0.3" in capsys.readouterr().out


def test_languages_differ_in_words_alone() -> None:
    russian, english = (schema(language) for language in LANGUAGES)

    def bare(one: Any) -> Any:
        if isinstance(one, dict):
            worded = {"description", "summary", "tags", "example", "examples"}
            return {name: bare(value) for name, value in one.items() if name not in worded}
        return [bare(value) for value in one] if isinstance(one, list) else one

    assert russian != english
    assert bare(russian) == bare(english)


@pytest.mark.parametrize("call", BY_ROUTE.values(), ids=lambda call: call.name)
def test_every_refusal_of_a_call_has_its_status(call: Call) -> None:
    answers = schema("ru")["paths"][call.path][call.method.lower()]["responses"]

    assert set(answers) == {"200", *(str(error.status.value) for error in call.errors)}


def test_every_code_is_listed() -> None:
    code = schema("ru")["components"]["schemas"]["Error"]["properties"]["code"]

    assert code["enum"] == [error.code for error in Error]


@pytest.mark.parametrize(
    ("address", "header", "word"),
    [
        ("", "", "Отправить код"),
        ("", "en", "Send a code"),
        ("?lang=en", "", "Send a code"),
        ("?lang=ru", "en", "Отправить код"),
        ("?lang=tlh", "", "Отправить код"),
    ],
)
def test_anyone_may_read_it(address: str, header: str, word: str) -> None:
    response = Client().get(f"/api/v1/openapi.json{address}", headers={"Accept-Language": header})

    assert response.status_code == 200
    assert response["Content-Type"] == "application/json"
    assert response.json()["paths"]["/otp/send"]["post"]["summary"] == word


def test_other_methods_are_refused_in_the_envelope() -> None:
    response = Client().post("/api/v1/openapi.json")

    assert (response.status_code, response.json()["code"]) == (405, "method_not_allowed")
