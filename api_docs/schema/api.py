"""GET /openapi.json: the schema itself. It needs no key."""

from functools import cache

import orjson
from django.http import HttpRequest, HttpResponse
from django.utils import translation

from api.base_view import ApiResponse, ApiView
from api_docs.schema import schema
from catalogue import languages


class OpenApi(ApiView):
    def check_access(self, request: HttpRequest) -> None:
        pass

    def get(self, request: HttpRequest) -> HttpResponse:
        language = request.GET.get("lang")
        return ApiResponse(
            document(language if language in languages.codes() else languages.active())
        )


@cache
def document(language: str) -> str:
    with translation.override(language):
        return orjson.dumps(schema.document()).decode()
