"""The paths of every dialect, each with its own response for unknown paths."""

from django.urls import include, path, re_path
from django.urls.resolvers import URLPattern, URLResolver

from api.base_view import NotFoundView
from compat.dialect import Dialect, dialects, routes
from compat.view import NotFound


def _paths_of(dialect: Dialect) -> list[URLPattern | URLResolver]:
    view: type[NotFound] = type("NotFound", (NotFound,), {"dialect": dialect})
    not_found = view.as_view()
    return [
        path(f"{dialect.name}/", include(routes(dialect))),
        re_path(rf"^{dialect.name}(?:/|$)", not_found),
    ]


urlpatterns: list[URLPattern | URLResolver] = [
    *(pattern for dialect in dialects().values() for pattern in _paths_of(dialect)),
    re_path(r"", NotFoundView.as_view()),
]
