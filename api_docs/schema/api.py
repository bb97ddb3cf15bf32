"""GET /openapi.json: the schema itself. It needs no key."""

from functools import cache
from typing import Any

import orjson
from django.http import HttpResponse
from django.utils import translation
from drf_spectacular.generators import SchemaGenerator
from rest_framework.exceptions import MethodNotAllowed
from rest_framework.request import Request

from api.base_view import ApiResponse, ApiView
from catalogue import languages


class OpenApi(ApiView):
    schema = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        if request.method not in self.allowed_methods:
            raise MethodNotAllowed(str(request.method))

    def get(self, request: Request) -> HttpResponse:
        asked = request.query_params.get("lang")
        return ApiResponse(document(asked if asked in languages.codes() else languages.active()))


@cache
def document(language: str) -> str:
    with translation.override(language):
        made = SchemaGenerator().get_schema(public=True)  # type: ignore[no-untyped-call]
    return orjson.dumps(made).decode()
