"""Template tags of the documentation's pages."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from django import template
from django.conf import settings
from django.template.context import Context
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from api.calls import Call, Field
from api_docs.pages import samples
from api_docs.pages.articles import visitor_html
from api_docs.pages.values import duration, kind, tokens, windows
from catalogue.errors import Error
from catalogue.languages import page_languages

register = template.Library()


register.filter("duration", duration)
register.filter("tokens", tokens)
register.filter("windows", windows)


@register.inclusion_tag("insertions/sample.md", takes_context=True)
def sample(context: Context, stem: str) -> dict[str, Any]:
    """An example in the chosen programming language, with links to the other languages."""
    by_language = samples.samples(stem)
    code_sample = by_language.get(context["sample_language"]) or next(
        iter(by_language.values()), None
    )
    return {
        "stem": stem,
        "chosen": code_sample,
        "short": samples.short_curl(stem)
        if code_sample and code_sample.language.name == "curl"
        else None,
        "languages": [sample.language for sample in by_language.values()],
        **(
            _setup(context, f"setup-{stem}", samples.VARIABLES[stem])
            if "page" in context  # the home page only shows the code
            else {"exports": ""}
        ),
    }


@register.inclusion_tag("insertions/setup.md", takes_context=True)
def setup(context: Context, anchor: str, names: str = "KVITOK_URL KVITOK_KEY") -> dict[str, Any]:
    """Shell commands that set the variables of the snippets below."""
    return _setup(context, anchor, names.split())


def _setup(context: Context, anchor: str, names: Sequence[str]) -> dict[str, Any]:
    values = {"KVITOK_URL": context["base_url"], "KVITOK_KEY": context["test_key"]}
    lines = [f'export {name}="{(values | samples.VALUES)[name]}"' for name in names]
    return {
        "anchor": anchor,
        "exports": "\n".join(lines),
        "page": context["page"],
        "can_fill": context["can_fill"] and "KVITOK_KEY" in names,
        "csrf_token": context.get("csrf_token"),
    }


@register.inclusion_tag("insertions/fields.md", takes_context=True)
def fields(context: Context, several: Sequence[Field], part: str = "response") -> dict[str, Any]:
    rows = [row for field in several for row in _field_rows(field, "")]
    return {"rows": rows, "is_request": part == "request"}


def _field_rows(field: Field, above: str) -> list[dict[str, Any]]:
    name = above + field.name
    row = {
        "name": name,
        "kind": kind(field.schema, is_nested=bool(field.fields)),
        "required": field.required,
        "description": field.description,
    }
    separator = "[]." if field.schema.get("type") == "array" else "."
    below = [row for inner in field.fields for row in _field_rows(inner, name + separator)]
    return [row, *below]


@register.simple_tag
def message_of(error: Error) -> str:
    """The message of an error, marked with its language if that is not the page's."""
    message = str(error.message)
    return message if error.is_translated else f"[{message}]{{lang={settings.LANGUAGE_CODE}}}"


@register.simple_tag
def route(call: Call) -> str:
    return f"{{.route}}\n**{call.method}** `/api/v1{call.path}`"


@register.simple_tag
def as_json(body: Mapping[str, Any], anchor: str) -> str:
    return _code("json", anchor, json.dumps(body, ensure_ascii=False, indent=2))


@register.simple_tag
def response_of(call: Call, anchor: str = "") -> str:
    return as_json(call.response_example(), anchor or f"{call.name}-answer")


@register.simple_tag
def curl_of(call: Call) -> str:
    return _code("bash", f"{call.name}-curl", samples.curl_of(call))


def _code(lexer: str, anchor: str, code: str) -> str:
    return f"{{#{anchor}}}\n```{lexer}\n{code}\n```"


@register.simple_tag(takes_context=True)
def shown_sample(context: Context, stem: str) -> SafeString:
    """The sample as HTML, for pages that are not articles."""
    text = render_to_string("insertions/sample.md", sample(context, stem), using="articles")
    return visitor_html(text, page_languages.active())
