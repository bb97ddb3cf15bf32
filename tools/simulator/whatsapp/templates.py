"""The approved templates of the demo account, and Meta's checks of their parameters."""

import re
import secrets
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.simulator.request_bodies import mapping, mappings
from tools.simulator.settings import Settings
from tools.simulator.vendor import RefusedError

BROKEN_LINES = re.compile(r"[\n\r\t]| {4}")
MAX_CODE = 15
MAX_BODY = 1024
MAX_URL = 2000
# An operator submits the service's own sentences in the other languages.
LANGUAGES = Path(__file__).parents[3] / "catalogue/languages"
_TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
TITLES = {int(code): title for code, title in _TABLES["titles"].items()}


def refused(code: int, details: str, status: int = 400) -> RefusedError:
    """Meta's answer to a bad request: `error.code` and `error_data.details`."""
    data = {"messaging_product": "whatsapp", "details": details}
    return graph_error(status, code, f"(#{code}) {TITLES[code]}", error_data=data)


def graph_error(status: int, code: int, message: str, **details: dict[str, Any]) -> RefusedError:
    error = {"message": message, "type": "OAuthException", "code": code, **details}
    trace = "A" + secrets.token_urlsafe(16)
    return RefusedError({"error": {**error, "fbtrace_id": trace}}, status)


@dataclass(frozen=True, slots=True)
class Content:
    """The text that the person reads; `buttons` are the URLs behind the buttons."""

    text: str
    code: str | None
    buttons: list[str]


@dataclass(frozen=True, slots=True)
class Template:
    category: str
    bodies: dict[str, str]  # language -> wording
    parameters: int
    has_code: bool  # the first parameter is the code
    labels: dict[str, str]  # language -> label of the URL button
    link: str | None = None  # what the URL button puts before its parameter

    def fill(self, language: str, values: list[str], button: str) -> Content:
        text = self.bodies[language].format(*values)
        if len(text) > MAX_BODY:
            raise refused(132005, f"body: text is longer than {MAX_BODY} characters")
        code = values[0] if self.has_code else None
        if self.link is None:
            return Content(text, code, [])
        label = self.labels[language]
        return Content(f"{text}\n{label}: {self.link}{button}", code, [self.link + button])


def _own_sentences(locale: str) -> dict[str, Any]:
    path = LANGUAGES / locale / "messages.toml"
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def _body(kind: str, row: dict[str, Any], locale: str) -> str:
    """The wording, its parameters by number."""
    if locale in row:
        return str(row[locale])
    texts = _own_sentences(locale)
    own_text = texts.get("whatsapp", {}).get({"code_link": "code_with_link"}.get(kind, kind))
    body = str(own_text or texts.get("code") or row["en"])
    for name, number in {"{code}": "{0}", "{text}": "{0}", "{brand}": "{1}"}.items():
        body = body.replace(name, number)
    return body.removesuffix(" {1}")  # Meta's sentences of a code name no brand


def approved(settings: Settings) -> dict[str, Template]:
    """Templates in each language of the account, the first if several share one of Meta's codes."""
    languages = {code: tag for tag, code in reversed([*settings.whatsapp_languages.items()])}
    labels = {
        code: _own_sentences(tag).get("bot", {}).get("open", "Open")
        for code, tag in languages.items()
    }
    return {
        settings.variable(f"WHATSAPP_{kind.upper()}_TEMPLATE", row["name"]): Template(
            row["category"],
            {code: _body(kind, row, tag) for code, tag in languages.items()},
            row["parameters"],
            has_code=row["has_code"],
            labels=labels,
            link=f"{settings.short_url}/" if row["has_link"] else None,
        )
        for kind, row in _TABLES["templates"].items()
    }


def fill(reference: dict[str, Any], templates: dict[str, Template]) -> tuple[Template, Content]:
    """Checks a `template` object as Meta does; returns what the person will read."""
    name = reference.get("name")
    language = mapping(reference.get("language")).get("code")
    if not isinstance(name, str) or not name:
        raise refused(100, "Parameter name is missing or empty")
    if not isinstance(language, str) or not language:
        raise refused(131008, "Parameter of type language is missing")
    template = templates.get(name)
    if template is None or language not in template.bodies:
        raise refused(132001, f"template name ({name}) does not exist in {language}", status=404)
    body, button = _components(reference.get("components"))
    values = _texts(body, "body", template.parameters)
    (suffix,) = _texts(button, "button at index 0", 1)
    if template.link is None:
        if len(suffix) > MAX_CODE or len(values[0]) > MAX_CODE:
            raise refused(131009, f"code is longer than {MAX_CODE} characters")
        if suffix != values[0]:
            raise refused(132012, "button: the code differs from the one in the body")
    elif " " in suffix or len(template.link + suffix) > MAX_URL:
        raise refused(131009, "button: the parameter makes no valid URL")
    return template, template.fill(language, values, suffix)


def _components(components: object) -> tuple[dict[str, Any], dict[str, Any]]:
    parts: dict[str, list[dict[str, Any]]] = {"body": [], "button": []}
    for component in mappings(components):
        kind = str(component.get("type", "")).lower()
        if kind not in parts:
            raise refused(132012, f"template has no component of type {kind!r}")
        parts[kind].append(component)
    if len(parts["button"]) != 1:
        raise refused(131008, "buttons: Button at index 0 of type Url requires a parameter")
    if len(parts["body"]) > 1:
        raise refused(132012, "body: more than one component")
    (button,) = parts["button"]
    if str(button.get("sub_type", "")).lower() != "url" or str(button.get("index")) != "0":
        raise refused(131009, "button: sub_type must be url and index 0")
    return (parts["body"] or [{}])[0], button


def _texts(component: dict[str, Any], component_name: str, expected: int) -> list[str]:
    parameters = mappings(component.get("parameters"))
    if len(parameters) != expected:
        raise refused(
            132000,
            f"{component_name}: number of localizable_params ({len(parameters)}) does not match "
            f"the expected number of params ({expected})",
        )
    return [_text(parameter, component_name) for parameter in parameters]


def _text(parameter: dict[str, Any], component_name: str) -> str:
    if str(parameter.get("type", "")).lower() != "text":
        raise refused(132012, f"{component_name}: Format mismatch, expected TEXT")
    text = parameter.get("text")
    if not isinstance(text, str) or not text.strip():
        raise refused(131008, f"{component_name}: Parameter text is missing or empty")
    if BROKEN_LINES.search(text):
        message = "Param text cannot have new-line/tab characters or more than 4 consecutive spaces"
        raise refused(100, message)
    return text
