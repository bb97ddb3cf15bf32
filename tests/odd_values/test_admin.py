"""The admin's pages answer queries, forms and rows with odd values."""

from collections.abc import Iterator
from urllib.parse import urljoin, urlsplit

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import resolve, reverse

from operator_admin.site import pages
from tests.cabinet.pages import create_content
from tests.factories import CompanyFactory
from tests.odd_values.html_forms import Page
from tests.odd_values.sweep import Sweep
from tests.odd_values.values import ALONE, TEXTS, WORST
from tests.operator_admin.operators import make_operator, sign_in


@pytest.fixture
def sweep(client: Client, db: None) -> Iterator[Sweep]:
    create_content(CompanyFactory.create())
    sign_in(client, make_operator(), "password", "mfa")
    with Sweep(client).listening() as sweep:
        yield sweep


def starts() -> list[str]:
    named = [f"admin:{name}" for route, name, _view in pages if "<" not in route]
    named += [
        f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}"
        for model in admin.site._registry
        for page in ("changelist", "add")
    ]
    return [reverse(name) for name in ["admin:index", *named]]


def paths(sweep: Sweep) -> list[str]:
    """One address of each page that the operators' pages lead to, and of each list's first row."""
    result: dict[str, str] = {}
    waiting = starts()
    while waiting:
        path = waiting.pop()
        route = resolve(path).route
        if route in result or path.endswith("/logout/"):
            continue
        result[route] = path
        response = sweep.ask("get", path)
        if response.status_code == 200 and "html" in response["Content-Type"]:
            waiting += addresses(path, Page(response.content.decode()).addresses)
    return list(result.values())


def addresses(path: str, hrefs: list[str]) -> list[str]:
    """Addresses of the admin."""
    parts = [urlsplit(urljoin(path, href)) for href in hrefs]
    return [part.path for part in parts if not part.netloc and part.path.startswith("/admin/")]


def test_operators_lists_survive_extreme_values(sweep: Sweep) -> None:
    sweep.read_queries([path for path in starts() if not path.endswith("/add/")])
    sweep.all_queries(WORST[:2])

    assert sweep.failed == {}


def test_operator_list_filters_handle_odd_values(sweep: Sweep) -> None:
    for model, page in admin.site._registry.items():
        path = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        sweep.ask("get", f"{path}?after={'9' * 5000}")
        for spec in page.list_filter:
            name = getattr(spec, "parameter_name", spec[0] if isinstance(spec, tuple) else spec)
            for query in (f"{name}=%00", f"{name}__exact=%00", f"{name}__id__exact={'9' * 5000}"):
                sweep.ask("get", f"{path}?{query}")

    assert sweep.failed == {}


@pytest.mark.timeout(1800)
def test_operator_pages_handle_odd_values(sweep: Sweep) -> None:
    result = paths(sweep)
    sweep.read(result, result)
    sweep.all_queries(TEXTS)
    sweep.all_forms(TEXTS, ALONE)

    assert sweep.failed == {}
