"""Examples of docs/examples as highlighted code, curl requests, and a sample SMS."""

import json
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.utils.safestring import SafeString, mark_safe
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

from accounts.keys.principal import CompanyTexts
from api.calls import Call
from catalogue.channels import BY_NAME as CHANNELS
from catalogue.languages import page_languages
from channels.web.fields import DEFAULT_PURPOSE
from links.make.new_link import short_url
from otp.texts import rendering

FOLDER = settings.BASE_DIR / "docs" / "examples"
STEMS = ("send_code", "verify_code", "shorten", "send_link", "handle_errors", "verify_webhook")
_API = ("KVITOK_URL", "KVITOK_KEY")
VARIABLES = {  # environment variables that each example reads
    "send_code": (*_API, "PHONE"),
    "verify_code": (*_API, "PHONE", "CODE"),
    "shorten": (*_API, "LINK"),
    "send_link": (*_API, "PHONE", "LINK"),
    "handle_errors": (*_API, "PHONE"),
    "verify_webhook": ("KVITOK_SECRET", "PORT"),
}
# Fetches the sent code, so that the verify example works after the send example.
READ_CODE = (
    '$(curl -s "$KVITOK_URL/test/messages?phone=%2B79990000000&limit=1" '
    '-H "Authorization: Bearer $KVITOK_KEY" | sed -E \'s/.*"code":"([0-9]+)".*/\\1/\')'
)
# Only the call; the file has the rest of the program.
SHORT_CALLS = {
    "send_code": ("/otp/send", '{"phone": "+79990000000"}'),
    "verify_code": ("/otp/verify", """{"phone": "+79990000000", "code": "'"$CODE"'"}"""),
    "shorten": ("/links/shorten", '{"url": "https://shop.example/orders/1024"}'),
    "send_link": (
        "/links/send",
        '{"phone": "+79990000000", "url": "https://shop.example/orders/1024"}',
    ),
}
VALUES = {
    "PHONE": "+79990000000",
    "CODE": READ_CODE,
    "LINK": "https://shop.example/orders/1024",
    "KVITOK_SECRET": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    "PORT": "8080",
}


@dataclass(frozen=True, slots=True)
class Language:
    name: str  # name of the folder, and value of ?code=
    title: str
    suffixes: tuple[str, ...]
    lexer: str


LANGUAGES = (
    Language("curl", "curl", (".sh",), "bash"),
    Language("python", "Python", (".py",), "python"),
    Language("javascript", "JavaScript", (".js", ".mjs"), "javascript"),
    Language("typescript", "TypeScript", (".ts", ".mts"), "typescript"),
    Language("php", "PHP", (".php",), "php"),
    Language("go", "Go", (".go",), "go"),
    Language("java", "Java", (".java",), "java"),
    Language("csharp", "C#", (".cs",), "csharp"),
    Language("rust", "Rust", (".rs",), "rust"),
)
BY_NAME = {language.name: language for language in LANGUAGES}


@dataclass(frozen=True, slots=True)
class Sample:
    language: Language
    file: str  # under docs/examples
    code: str


@cache
def samples(stem: str) -> dict[str, Sample]:
    """The example by name of the programming language, for all languages that have it."""
    samples = {language.name: _sample(language, stem) for language in LANGUAGES}
    return {name: sample for name, sample in samples.items() if sample}


def _sample(language: Language, stem: str) -> Sample | None:
    file = next((file for file in _files(language) if stem_of(file) == stem.replace("_", "")), None)
    if file is None:
        return None
    code = file.read_text(encoding="utf-8").strip()
    return Sample(language, file.relative_to(FOLDER).as_posix(), code)


def short_curl(stem: str) -> str | None:
    """The example as one curl command; None if it takes more than one call."""
    if stem not in SHORT_CALLS:
        return None
    path, body = SHORT_CALLS[stem]
    return _curl("POST", path, body)


def curl_of(call: Call) -> str:
    """A curl command with the call's example request."""
    values = call.response_example()
    path = call.path.format_map(values | {"id": _id_in(values)} if "{id}" in call.path else values)
    needed = {field.name: field.example for field in call.query or () if field.required}
    query = f"?{urlencode(needed)}" if needed else ""
    body = json.dumps(call.request_example(), ensure_ascii=False) if call.body else ""
    return _curl(call.method, path + query, body)


def _id_in(response: dict[str, Any]) -> Any:
    return response.get("id") or response.get("batch") or response["record"]["verification"]


def _curl(method: str, path: str, body: str) -> str:
    default = "POST" if body else "GET"  # curl's own default
    option = "" if method == default else f"-X {method} "
    lines = [f'curl {option}"$KVITOK_URL{path}"', '-H "Authorization: Bearer $KVITOK_KEY"']
    if body:
        lines += ['-H "Content-Type: application/json"', f"-d '{body}'"]
    return " \\\n  ".join(lines)


@cache
def _files(language: Language) -> tuple[Path, ...]:
    files = (FOLDER / language.name).rglob("*")
    return tuple(sorted(file for file in files if file.suffix in language.suffixes))


def stem_of(file: Path) -> str:
    """The normalized name of an example, equal for `SendCode.cs`, `send_code.go` and
    `send_code/main.go`.
    """
    name = file.parent.name if file.stem.lower() in {"main", "program", "index"} else file.stem
    return name.replace("_", "").replace("-", "").lower()


@lru_cache(maxsize=1000)
def highlighted(code: str, lexer: str) -> SafeString:
    """Highlighted code as HTML, which pygments escapes."""
    formatter = HtmlFormatter(nowrap=True, classprefix="hl-")
    html: str = highlight(code, get_lexer_by_name(lexer), formatter)
    return mark_safe(html.strip())  # noqa: S308


def sample_sms(language: str) -> str:
    """An SMS with a company's own text, a link, and all autofill lines."""
    sample = page_languages.texts(language)["sample"]
    template = rendering.template(
        CompanyTexts({}, "shop.example", "FA+9qCX9VSu"),
        channel=CHANNELS["sms"],
        locale=language,
        purpose=DEFAULT_PURPOSE,
        has_link=True,
        body=sample["text"],
    )
    link = short_url("x7Kq2MbdR9")
    return rendering.fill(template, code="482915", brand=sample["brand"], minutes=None, link=link)
