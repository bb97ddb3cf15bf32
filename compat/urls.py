"""The paths of every dialect; those that it does not know are refused in its words."""

from django.urls import include, path, re_path
from django.urls.resolvers import URLPattern, URLResolver

from api.base_view import NotFoundView
from compat.dialect import Dialect, dialects, routes
from compat.view import NotFound


def _of_dialect(dialect: Dialect) -> list[URLPattern | URLResolver]:
    of_this: type[NotFound] = type("NotFound", (NotFound,), {"dialect": dialect})
    not_found = of_this.as_view()
    return [
        path(f"{dialect.name}/", include(routes(dialect))),
        re_path(rf"^{dialect.name}(?:/|$)", not_found),
    ]


urlpatterns: list[URLPattern | URLResolver] = [
    *(pattern for dialect in dialects().values() for pattern in _of_dialect(dialect)),
    re_path(r"", NotFoundView.as_view()),
]
