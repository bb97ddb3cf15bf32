"""Samples of code, snippets and values, as the documentation shows them."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.template import engines
from django.test import Client
from django.utils import translation

from accounts.keys.principal import NO_TEXTS
from api.calls import Call, array, choice, integer, nullable, text, time, time_or_day
from api_docs.calls import CALLS
from api_docs.pages import samples
from api_docs.pages.articles import as_html
from api_docs.pages.values import duration, kind, tokens, windows
from catalogue.channels import BY_NAME as CHANNELS
from catalogue.languages import page_languages
from channels.web.fields import DEFAULT_PURPOSE
from otp.texts import rendering
from tests.api.calling import BY_NAME

FILES = {
    "curl/send_code.sh": 'curl "$URL" # <code>\n',
    "csharp/SendCode.cs": "var x = 1;",
    "go/send_code/main.go": "package main",
    "rust/src/bin/send_code.rs": "fn main() {}",
    "python/shorten.py": "print(1)",
    "php/notes.txt": "not code",
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, content in FILES.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
    monkeypatch.setattr(samples, "FOLDER", tmp_path)
    forget()
    yield
    forget()


def forget() -> None:
    samples.samples.cache_clear()
    samples._files.cache_clear()


def test_example_is_found_under_each_language_s_name() -> None:
    result = samples.samples("send_code")

    assert list(result) == ["curl", "go", "csharp", "rust"]
    assert result["go"].file == "go/send_code/main.go"


def test_unwritten_sample_is_empty() -> None:
    assert samples.samples("verify_webhook") == {}


def test_code_is_escaped() -> None:
    code = samples.highlighted(samples.samples("send_code")["curl"].code, "bash")

    assert "<code>" not in code
    assert "&lt;code&gt;" in re.sub(r"</?span[^>]*>", "", code)


@pytest.mark.parametrize(
    ("asked", "expected"), [("?lang=csharp", "SendCode.cs"), ("", ".sh"), ("?lang=cobol", ".sh")]
)
def test_language_is_chosen_by_the_address(client: Client, asked: str, expected: str) -> None:
    body = client.get(f"/docs/send-code{asked}").content.decode()

    assert re.findall(r"docs/examples/\S+?(?=<)", body) == [
        f"docs/examples/{name}" for name in FILES if name.endswith(expected)
    ]


def test_language_is_remembered(client: Client) -> None:
    client.get("/docs/send-code?lang=rust")

    body = client.get("/docs/send-code").content.decode()

    assert "send_code.rs" in body
    assert 'aria-current="true">Rust' in body


def test_snippet_keeps_what_the_shell_needs() -> None:
    page = engines["articles"].from_string('```bash\ncurl "{{ url }}"\n```')

    shown = as_html(page.render({"url": "http://h/?a=1&b=<2>"}))

    plain = re.sub(r"<[^>]+>", "", shown)
    assert "http://h/?a=1&amp;b=&lt;2&gt;" in plain


@pytest.mark.usefixtures("english")
@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (1, "1 second"),
        (60, "60 seconds"),
        (300, "5 minutes"),
        (3600, "60 minutes"),
        (86_400, "24 hours"),
        (2_592_000, "30 days"),
        (157_680_000, "5 years"),
    ],
)
def test_duration_is_in_the_largest_whole_unit(seconds: int, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.usefixtures("english")
def test_limits_are_joined_by_commas() -> None:
    assert windows([(5, 600), (20, 86_400)]) == "5 in 10 minutes, 20 in 24 hours"
    assert (tokens(1), tokens(16)) == ("1 token", "16 tokens")


@pytest.mark.usefixtures("english")
@pytest.mark.parametrize(
    ("schema", "expected_text"),
    [
        (text(), "string"),
        (nullable(text(maxLength=5)), "string, up to 5 characters or `null`"),
        (text(minLength=3, maxLength=5), "string, 3 to 5 characters"),
        (integer(60, 90), "integer, 60 to 90"),
        (integer(0), "integer"),
        (nullable(choice(["a", "b"], "X")), "`a` | `b` or `null`"),
        (array(choice(["a"], "X")), "list of `a`"),
        (time(), "time, ISO 8601 UTC"),
        (time_or_day(), "time or day, ISO 8601, UTC unless it names a zone"),
    ],
)
def test_kind_of_a_value_is_described(schema: dict[str, object], expected_text: str) -> None:
    assert kind(schema) == expected_text


@pytest.mark.parametrize("language", ["ru", "en"])
def test_sample_message_is_what_a_phone_would_show(language: str) -> None:
    with translation.override(language):
        sample = BY_NAME["listTestMessages"].response_example()["data"][0]["text"]

    template = rendering.template(
        NO_TEXTS,
        channel=CHANNELS["sms"],
        locale=language,
        purpose=DEFAULT_PURPOSE,
        has_link=False,
    )
    brand = page_languages.texts(language)["sample"]["brand"]
    assert sample == rendering.fill(template, code="482915", brand=brand, minutes=None, link=None)


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
def test_request_of_every_call_is_whole(call: Call) -> None:
    request = samples.curl_of(call)

    assert "None" not in request
    assert "{" not in request.splitlines()[0]  # the address
