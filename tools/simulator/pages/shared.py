"""The shared part of the pages: access, texts and templates."""

import csv
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from aiohttp import web
from django.template import Context, Engine

from tools.simulator.channels import CHANNELS
from tools.simulator.faults import Fault
from tools.simulator.settings import Settings

if TYPE_CHECKING:
    from tools.simulator.vendor import Handler

HERE = Path(__file__).parent
ENGINE = Engine(dirs=[str(HERE / "templates")])  # escapes whatever comes from outside
HEADERS = {
    "Cache-Control": "no-store",
    # Without a referrer a browser calls the origin of a form "null", and the guard refuses it.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
}
Texts = Mapping[str, str]


class LocalOnly:
    def __init__(self, settings: Settings) -> None:
        """A foreign host name for this server is a rebinding attack."""
        self._host_names = {"127.0.0.1", "localhost", "::1", urlsplit(settings.own_url).hostname}

    def __call__(self, handler: "Handler") -> "Handler":
        async def guarded(request: web.Request) -> web.StreamResponse:
            if not self._is_own(request):
                return web.json_response({"error": "this host or origin is not ours"}, status=403)
            return await handler(request)

        return guarded

    def _is_own(self, request: web.Request) -> bool:
        """No foreign name (rebinding) and no foreign page (cross-site posts)."""
        origin = request.headers.get("Origin")
        is_ours = urlsplit(f"//{request.host}").hostname in self._host_names
        return is_ours and (origin is None or urlsplit(origin).netloc == request.host)


def read_texts(path: Path) -> Mapping[str, Texts]:
    (_, *languages), *rows = csv.reader(path.read_text(encoding="utf-8").splitlines())
    return {lang: {row[0]: row[n] for row in rows} for n, lang in enumerate(languages, 1)}


LANGUAGES = read_texts(HERE / "texts.csv")


def language_of(request: web.Request) -> str:
    """`?lang=` wins, then the first language of the browser; Russian where neither is ours."""
    lang = request.query.get("lang", "")
    if lang in LANGUAGES:
        return lang
    accepted = request.headers.get("Accept-Language", "")
    return "en" if accepted.strip().lower().startswith("en") else "ru"


def page(
    request: web.Request, template: str, texts: Texts, *, status: int = 200, **facts: object
) -> web.Response:
    lang = language_of(request)
    basics = {"t": texts, "lang": lang, "other": "ru" if lang == "en" else "en"}
    context = Context(basics | facts, use_l10n=False, use_tz=False)
    text = ENGINE.get_template(template).render(context)
    return web.Response(text=text, status=status, content_type="text/html", headers=HEADERS)


def options(texts: Texts, kind: str, values: Iterable[str]) -> list[tuple[str, str]]:
    return [(value, texts[f"{kind}_{value}"]) for value in values]


def fault_text(fault: Fault, texts: Texts) -> str:
    facts = [
        texts[f"kind_{fault.kind or 'latency'}"],
        CHANNELS[fault.channel].title if fault.channel else "",
        texts[f"provider_{fault.provider}"] if fault.provider else "",
        f"+{fault.phone}" if fault.phone else "",
        texts["ms"].format(fault.latency_ms) if fault.latency_ms is not None else "",
        texts["times_left"].format(fault.times) if fault.times else "",
    ]
    return " · ".join(part for part in facts if part)


def faults_of(faults: Iterable[Fault], texts: Texts) -> list[tuple[str, str]]:
    return [(fault.id, fault_text(fault, texts)) for fault in faults]


def clock(moment: float) -> str:
    local = time.localtime(moment)
    today = time.strftime("%Y%m%d") == time.strftime("%Y%m%d", local)
    return time.strftime("%H:%M:%S" if today else "%d.%m.%Y %H:%M:%S", local)
