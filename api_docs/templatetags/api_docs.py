"""The pieces documentation pages are made of."""

import json
from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

from django import template
from django.template.base import NodeList, Parser, Token
from django.template.context import Context
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext

from api.calls import Call, Field
from api_docs.pages import samples
from api_docs.pages.values import duration, kind, tokens, windows
from catalogue.errors import Error
from catalogue.texts import StrOrPromise

register = template.Library()


@register.filter
def inline_code(text: StrOrPromise) -> SafeString:
    """Marks what stands between backticks as code."""
    parts = str(text).split("`")
    return format_html_join(
        "",
        "{}{}{}",
        (
            (mark_safe("<code>"), part, mark_safe("</code>")) if is_code else ("", part, "")
            for part, is_code in zip(parts, cycle((False, True)), strict=False)
        ),
    )


register.filter("duration", duration)
register.filter("tokens", tokens)
register.filter("windows", windows)


@register.simple_tag
def heading(anchor: str, text: str) -> SafeString:
    """A second heading that can be linked to."""
    return format_html(
        '<h2 id="{}">{} <a class="anchor" href="#{}" aria-label="{}">#</a></h2>',
        anchor,
        text,
        anchor,
        gettext("Link to “%(words)s”") % {"words": text},
    )


@register.inclusion_tag("docs/parts/sample.html", takes_context=True)
def sample(context: Context, stem: str) -> dict[str, Any]:
    """One example in the chosen language, with links to the others; nothing if there is none."""
    shown = samples.samples(stem)
    chosen = shown.get(context["sample_language"]) or next(iter(shown.values()), None)
    return {
        "stem": stem,
        "chosen": chosen,
        "short": samples.short(stem) if chosen and chosen.language.name == "curl" else None,
        "languages": [sample.language for sample in shown.values()],
        **(
            _setup(context, f"setup-{stem}", samples.VARIABLES[stem])
            if "page" in context  # the first page of all shows code to look at
            else {"exports": ""}
        ),
    }


@register.inclusion_tag("docs/parts/setup.html", takes_context=True)
def setup(context: Context, anchor: str, names: str = "KVITOK_URL KVITOK_KEY") -> dict[str, Any]:
    """The variables that the snippets below read, ready to be pasted."""
    return _setup(context, anchor, names.split())


def _setup(context: Context, anchor: str, names: Sequence[str]) -> dict[str, Any]:
    values = {"KVITOK_URL": context["base_url"], "KVITOK_KEY": context["test_key"]}
    lines = [f'export {name}="{(values | samples.VALUES)[name]}"' for name in names]
    return {
        "anchor": anchor,
        "exports": samples.coloured("\n".join(lines), "bash"),
        "page": context["page"],
        "can_fill": context["can_fill"] and "KVITOK_KEY" in names,
        "csrf_token": context.get("csrf_token"),
    }


@register.inclusion_tag("docs/parts/fields.html", takes_context=True)
def fields(context: Context, several: Sequence[Field], direction: str = "answer") -> dict[str, Any]:
    rows = [row for field in several for row in _rows(field, "")]
    return {"rows": rows, "is_request": direction == "request"}


def _rows(field: Field, above: str) -> list[dict[str, Any]]:
    name = above + field.name
    row = {
        "name": name,
        "kind": kind(field.schema, is_nested=bool(field.fields)),
        "required": field.required,
        "words": inline_code(field.description),
    }
    separator = "[]." if field.schema.get("type") == "array" else "."
    below = [row for inner in field.fields for row in _rows(inner, name + separator)]
    return [row, *below]


@register.inclusion_tag("docs/parts/refusals.html")
def refusals(errors: Sequence[Error]) -> dict[str, Any]:
    return {"errors": errors}


@register.inclusion_tag("docs/parts/code.html")
def as_json(body: Mapping[str, Any], anchor: str) -> dict[str, Any]:
    text = json.dumps(body, ensure_ascii=False, indent=2)
    return {"id": anchor, "code": samples.coloured(text, "json"), "lexer": "json"}


@register.inclusion_tag("docs/parts/code.html")
def curl_of(call: Call) -> dict[str, Any]:
    return {"id": f"{call.name}-curl", "code": samples.curl_of(call), "lexer": "bash"}


@register.simple_tag(takes_context=True)
def answer_of(context: Context, call: Call) -> dict[str, Any]:
    return call.answer_example()


@register.tag
def code(parser: Parser, token: Token) -> "CodeNode":
    """{% code "bash" "anchor" %}…{% endcode %}: highlighted, with a button to copy it."""
    _name, lexer, anchor = token.split_contents()
    inside = parser.parse(("endcode",))
    parser.delete_first_token()
    return CodeNode(inside, lexer.strip('"'), anchor.strip('"'))


class CodeNode(template.Node):
    def __init__(self, inside: NodeList, lexer: str, anchor: str) -> None:
        self.inside, self.lexer, self.anchor = inside, lexer, anchor

    def render(self, context: Context) -> SafeString:
        with context.push():
            context.autoescape, before = False, context.autoescape  # pygments escapes it all
            text = self.inside.render(context).strip("\n")
            context.autoescape = before
        coloured = samples.coloured(text, self.lexer)
        rendered = context.template.engine.get_template("docs/parts/code.html")  # type: ignore[union-attr]
        return rendered.render(Context({"id": self.anchor, "code": coloured, "lexer": self.lexer}))
