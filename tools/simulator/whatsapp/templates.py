"""The approved templates of the demo account, and Meta's checks of their parameters."""

import re
from dataclasses import dataclass
from typing import Any

from tools.simulator.messages.message_content import Content, links_in
from tools.simulator.request_bodies import mapping, mappings
from tools.simulator.settings import Settings

BROKEN_LINES = re.compile(r"[\n\r\t]| {4}")
LONGEST_CODE = 15
LONGEST_BODY = 1024
LONGEST_URL = 2000
OPEN = {"ru": "Открыть", "en": "Open"}


class RefusedError(Exception):
    """Meta's answer to a bad request: `error.code` and `error_data.details`."""

    def __init__(self, code: int, details: str, status: int = 400) -> None:
        super().__init__(f"{code} {details}")
        self.code = code
        self.details = details
        self.status = status


@dataclass(frozen=True, slots=True)
class Template:
    category: str
    bodies: dict[str, str]  # language -> wording
    parameters: int
    has_code: bool  # the first parameter is the code
    link: str | None = None  # what the URL button puts before its parameter

    def fill(self, language: str, values: list[str], button: str) -> Content:
        text = self.bodies[language].format(*values)
        if len(text) > LONGEST_BODY:
            raise RefusedError(132005, f"body: text is longer than {LONGEST_BODY} characters")
        links = links_in(text)
        if self.link is not None:
            label = OPEN["en" if language.startswith("en") else "ru"]
            text += f"\n{label}: {self.link}{button}"
            links.append(self.link + button)
        return Content(text, values[0] if self.has_code else None, list(dict.fromkeys(links)))


def approved(settings: Settings) -> dict[str, Template]:
    codes = settings.whatsapp_languages

    def bodies(**wordings: str) -> dict[str, str]:
        return {codes[locale]: wording for locale, wording in wordings.items()}

    link = f"{settings.short_url}/"
    code = bodies(en="{0} is your verification code.", ru="{0} — ваш код подтверждения.")
    branded = bodies(
        en="Your verification code: {0}. It was asked for by {1}; do not tell it to anyone.",
        ru="Ваш код подтверждения: {0}. Его запросили для {1}; никому его не сообщайте.",
    )
    # Meta takes no body that begins or ends with a parameter.
    plain = bodies(
        en="A message for you: {0}\nThe button below opens the link.",
        ru="Сообщение для вас: {0}\nСсылка открывается кнопкой ниже.",
    )
    return {
        settings.whatsapp_code_template: Template("authentication", code, 1, has_code=True),
        settings.whatsapp_link_template: Template("utility", plain, 1, has_code=False, link=link),
        settings.whatsapp_code_link_template: Template(
            "utility", branded, 2, has_code=True, link=link
        ),
    }


def fill(wanted: dict[str, Any], templates: dict[str, Template]) -> tuple[Template, Content]:
    """Check a `template` object as Meta does and render what the person will read."""
    name = wanted.get("name")
    language = mapping(wanted.get("language")).get("code")
    if not isinstance(name, str) or not name:
        raise RefusedError(100, "Parameter name is missing or empty")
    if not isinstance(language, str) or not language:
        raise RefusedError(131008, "Parameter of type language is missing")
    template = templates.get(name)
    if template is None or language not in template.bodies:
        raise RefusedError(
            132001, f"template name ({name}) does not exist in {language}", status=404
        )
    body, button = _components(wanted.get("components"))
    values = _texts(body, "body", template.parameters)
    (suffix,) = _texts(button, "button at index 0", 1)
    _check_button(template, values, suffix)
    return template, template.fill(language, values, suffix)


def _components(components: object) -> tuple[dict[str, Any], dict[str, Any]]:
    bodies, buttons = [], []
    for component in mappings(components):
        kind = str(component.get("type", "")).lower()
        if kind == "body":
            bodies.append(component)
        elif kind == "button":
            buttons.append(component)
        else:
            raise RefusedError(132012, f"template has no component of type {kind!r}")
    if len(buttons) != 1:
        raise RefusedError(131008, "buttons: Button at index 0 of type Url requires a parameter")
    if len(bodies) > 1:
        raise RefusedError(132012, "body: more than one component")
    button = buttons[0]
    is_url = str(button.get("sub_type", "")).lower() == "url"
    if not is_url or str(button.get("index")) != "0":
        raise RefusedError(131009, "button: sub_type must be url and index 0")
    return (bodies or [{}])[0], button


def _texts(component: dict[str, Any], where: str, expected: int) -> list[str]:
    parameters = mappings(component.get("parameters"))
    if len(parameters) != expected:
        raise RefusedError(
            132000,
            f"{where}: number of localizable_params ({len(parameters)}) does not match the "
            f"expected number of params ({expected})",
        )
    return [_text(parameter, where) for parameter in parameters]


def _text(parameter: dict[str, Any], where: str) -> str:
    if str(parameter.get("type", "")).lower() != "text":
        raise RefusedError(132012, f"{where}: Format mismatch, expected TEXT")
    text = parameter.get("text")
    if not isinstance(text, str) or not text.strip():
        raise RefusedError(131008, f"{where}: Parameter text is missing or empty")
    if BROKEN_LINES.search(text):
        raise RefusedError(
            100,
            "Param text cannot have new-line/tab characters or more than 4 consecutive spaces",
        )
    return text


def _check_button(template: Template, values: list[str], suffix: str) -> None:
    if template.link is None:
        if len(suffix) > LONGEST_CODE or len(values[0]) > LONGEST_CODE:
            raise RefusedError(131009, f"code is longer than {LONGEST_CODE} characters")
        if suffix != values[0]:
            raise RefusedError(132012, "button: the code differs from the one in the body")
    elif " " in suffix or len(template.link + suffix) > LONGEST_URL:
        raise RefusedError(131009, "button: the parameter makes no valid URL")
