"""Pages that visitors open, what vendors and gateways call, and odd values within paths."""

import re
from collections.abc import Iterator, Sequence
from itertools import cycle
from urllib.parse import quote

import pytest
from django.test import Client
from django.urls import NoReverseMatch, URLPattern, URLResolver, get_resolver, reverse

from accounts.models import Company
from channels.vendor_accounts import registry
from config.middleware import MACHINE_PATHS
from tests.cabinet.pages import create_content
from tests.cabinet.routes import DOCS, VISITOR
from tests.factories import CompanyFactory, MemberFactory
from tests.odd_values.sweep import Sweep
from tests.odd_values.values import BODIES, FIRST_ID, LAST_ID, TEXTS, WORST

PARAMETER = re.compile(r"<[^>]+>|\(\?P<.+?\)(?=[-/.$]|$)")
ELSEWHERE = ("api/", "admin/")  # in the modules beside


@pytest.fixture
def company(db: None) -> Company:
    company = CompanyFactory.create()
    create_content(company)
    return company


@pytest.fixture
def sweep(client: Client, company: Company) -> Iterator[Sweep]:
    with Sweep(client).listening() as sweep:
        yield sweep


def routes() -> list[str]:
    return [route for route in every_route() if not route.startswith(ELSEWHERE)]


def every_route() -> list[str]:
    return [
        route.replace("^", "").replace("$", "").replace("/?", "").replace("\\", "")
        for route in _walk(get_resolver(), "")
    ]


def _walk(resolver: URLResolver, before: str) -> Iterator[str]:
    for pattern in resolver.url_patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLPattern):
            yield route
        else:
            yield from _walk(pattern, route)


MULTIPART = "multipart/form-data; boundary=B"
PART = b'--B\r\nContent-Disposition: form-data; name="a"%s\r\n\r\n\\ud800\r\n'
UNREADABLE = [
    ("application/x-www-form-urlencoded; charset=windows-1251", b"a=1"),
    ("application/x-www-form-urlencoded", b"&".join(b"a%d=1" % n for n in range(1100))),
    ("multipart/form-data", b"x"),
    (MULTIPART, b"--B\r\nContent-Disposition: form-data; " + b"a" * 2000 + b"\r\n\r\n1\r\n--B--"),
    (MULTIPART, PART % b"" * 1100 + b"--B--"),
    (MULTIPART, PART % b'; filename="a"' * 110 + b"--B--"),
    (f"{MULTIPART}; charset=unicode_escape", PART % b"" + b"--B--"),
]


def test_forms_that_cannot_be_read_are_refused(db: None) -> None:
    sweep = Sweep(Client(enforce_csrf_checks=True))
    routed = [route for route in routes() if "[" not in route]
    paths = [f"/{PARAMETER.sub('x', route)}" for route in [*routed, "admin/login/", "no/page"]]
    pages = [path for path in paths if not path.startswith(MACHINE_PATHS)]
    login = [reverse("account_login")] * len(UNREADABLE)

    with sweep.listening():
        status_codes = {
            sweep.ask("post", path, body, content_type=kind, note=kind).status_code
            for path, (kind, body) in zip([*login, *pages], cycle(UNREADABLE), strict=False)
        }

    assert (status_codes, sweep.failed) == ({400}, {})


def test_paths_take_odd_values(sweep: Sweep, company: Company) -> None:
    sweep.client.force_login(MemberFactory.create(company=company).user)
    for route in filter(PARAMETER.search, routes()):
        for text in ("9" * 5000, str(2**63), "a\0\u202e\udcff²", FIRST_ID, LAST_ID):
            odd = quote(text, safe="", errors="surrogateescape")
            sweep.ask("get", "/" + odd.join(PARAMETER.split(route)))

    assert sweep.failed == {}


def hooks() -> list[str]:
    vendors = [registry.hook_url(name) for name in registry.live_providers()]
    gateways = [
        f"/{route}" for route in routes() if route.startswith("hooks/") and "<" not in route
    ]
    return gateways + ["/" + url.partition("://")[2].partition("/")[2] for url in vendors]


@pytest.mark.parametrize("texts", [WORST, TEXTS], ids=["worst", "every"])
def test_hooks_handle_odd_values(sweep: Sweep, texts: list[str]) -> None:
    for path in hooks():
        for text in texts:
            for query in (quote(text), f"hub.mode=subscribe&hub.challenge={quote(text)}&md5&ref=1"):
                sweep.ask("get", f"{path}?{query}")
        for body in [*BODIES, *(quote(text).encode() for text in texts)]:
            for kind in ("application/json", "application/x-www-form-urlencoded"):
                sweep.ask("post", f"{path}?md5&charset=utf-8", body, content_type=kind)

    assert len(hooks()) > 6
    assert sweep.failed == {}


def visited(company: Company) -> list[str]:
    link = company.links.get(clicks=3)
    once = company.links.get(is_once=True)
    result = [f"/{link.slug}", f"/{link.slug}+", f"/{once.slug}", f"/{once.slug}+"]
    for name in VISITOR | DOCS:
        try:
            result.append(reverse(name))
        except NoReverseMatch:
            continue  # its path has parameters
    return result


def try_all(
    sweep: Sweep, company: Company, values: Sequence[str], alone: Sequence[str]
) -> dict[str, str]:
    sweep.read(visited(company), visited(company))
    sweep.all_queries(values)
    sweep.all_forms(values, alone)
    return sweep.failed


def test_visitors_pages_survive_extreme_values(sweep: Sweep, company: Company) -> None:
    assert try_all(sweep, company, WORST[:2], []) == {}


@pytest.mark.timeout(1800)
def test_visitor_pages_handle_odd_values(sweep: Sweep, company: Company) -> None:
    assert try_all(sweep, company, TEXTS, TEXTS) == {}
