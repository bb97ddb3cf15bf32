"""What is ours around the views. The cabinet's middleware does not run for machines."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils.cache import add_never_cache_headers

MACHINE_PATHS = ("/api/", "/hooks/", "/livez", "/readyz")
GetResponse = Callable[[HttpRequest], HttpResponse]


class Views:
    """The end of the chain, where the views begin."""

    last_made: GetResponse

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = Views.last_made = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)


class Shortcut:
    """The beginning of the chain: machines go to the views at once.

    Django builds the chain from its end, so its `Views` is there already. One chain for all,
    rather than a second handler for the API, so that tests and runserver run the same.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response, self.views = get_response, Views.last_made

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path_info.startswith(MACHINE_PATHS):
            return self.views(request)
        return self.get_response(request)


class NoStore:
    """What a signed-in person sees stays out of shared and back-button caches."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if request.user.is_authenticated:
            add_never_cache_headers(response)
        return response
