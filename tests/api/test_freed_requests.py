"""What a refused request leaves behind: nothing that holds its connection open."""

import gc
import weakref

import pytest
from django.test import RequestFactory
from django.urls import resolve

from tests.api.clients import Api


@pytest.mark.parametrize("is_known", [True, False])
def test_refusal_keeps_nothing_of_those_who_called(api: Api, *, is_known: bool) -> None:
    """Its traceback has the frames of all callers. Granian closes the connection of an unread body
    once the last of them is freed; a cycle would hold it open until the collector runs.
    """

    class Protocol:
        pass

    def serve() -> tuple[int, weakref.ref[Protocol]]:
        protocol = Protocol()
        key = api.headers["Authorization"] if is_known else "Bearer kv_live_unknown"
        request = RequestFactory().post(
            "/api/v1/otp/send", b"{", "application/json", headers={"Authorization": key}
        )
        view, args, kwargs = resolve("/api/v1/otp/send")
        return view(request, *args, **kwargs).status_code, weakref.ref(protocol)

    gc.disable()
    try:
        status, freed = serve()
        assert (status, freed()) == (422 if is_known else 401, None)
    finally:
        gc.enable()
