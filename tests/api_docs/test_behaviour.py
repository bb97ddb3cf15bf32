"""The pages' statements about the API, compared with its behaviour."""

import re
from datetime import datetime
from typing import Any

import orjson
import pytest
from django.conf import settings
from django.test import Client
from django.utils import translation

import config.api_urls
from api.base_view import ApiView
from api.calls import Call
from api_docs.calls import CALLS
from tests.api.calling import NEEDS_LIVE_KEY, path_of
from tests.api.clients import Api
from tests.api_docs.reading import LANGUAGES
from tests.factories import MessageFactory

pytestmark = [
    pytest.mark.usefixtures("dispatcher", "price_list"),
    pytest.mark.parametrize("language", LANGUAGES),
]


def page(slug: str, language: str) -> str:
    return Client().get(f"/docs/{slug}.md?lang={language}").content.decode()


def replaced(api: Api, **rule: Any) -> int:
    return api.call("PUT", "/policy", orjson.dumps({"rules": [rule]})).status


def test_size_of_a_body_is_that_of_the_limits(test_api: Api, language: str) -> None:
    shown = page("limits", language)
    larger = [view for view in config.api_urls.VIEWS if view.max_body != ApiView.max_body]
    sizes = {call.path: view.max_body for view in larger for call in view.calls if call.has_body}
    assert set(sizes) == {"/links/bulk"}

    for path, size in {"/otp/send": ApiView.max_body, **sizes}.items():
        refused = test_api.call("POST", path, b" " * (size + 1))

        assert re.search(rf"\b{size // 1024} (KB|КБ)", shown)
        assert path == "/otp/send" or f"`POST {path}`" in shown
        assert str(size // 1024) in refused.body["message"]
        assert test_api.call("POST", path, b"{}".ljust(size)).body["errors"]


def test_patience_is_bounded_as_the_page_says(api: Api, language: str) -> None:
    least, most = settings.PATIENCE_RANGE
    bounds = re.search(r"`patience`\n: .* (\d+) (?:to|до) (\d+)\.", page("policy", language))

    assert bounds is not None
    assert (int(bounds[1]), int(bounds[2])) == (least, most)
    tried = [replaced(api, patience={"sms": n}) for n in (least - 1, least, most, most + 1)]
    assert tried == [422, 200, 200, 422]


def test_day_of_a_filter_means_its_beginning(test_api: Api, language: str) -> None:
    asked = re.search(r"`to=(\d{4}-\d\d-\d\d)`", page("calls", language))
    assert asked is not None
    day = asked[1]
    for moment in (f"{day}T00:00:00Z", f"{day[:-1]}0T23:59:59Z"):
        MessageFactory.create(
            company=test_api.company, mode="test", created_at=datetime.fromisoformat(moment)
        )

    until, since = (test_api.get("/messages", {name: day}).body["data"] for name in ("to", "from"))

    assert [message["created_at"][:10] for message in until] == [f"{day[:-1]}0"]
    assert [message["created_at"][:10] for message in since] == [day]


@pytest.mark.parametrize(
    "call", [call for call in CALLS if call.has_nested_fields], ids=lambda call: call.name
)
def test_unknown_field_in_list_is_refused_by_path(
    api: Api, test_api: Api, call: Call, language: str
) -> None:
    caller = api if call.scope in NEEDS_LIVE_KEY else test_api
    body = {field.name: [{"zzz": 1}] for field in call.body if field.fields}
    response = caller.call(call.method, path_of(caller, call), orjson.dumps(body))

    named = f"`{call.method} {call.path}`" in page("quickstart", language)
    with translation.override(language):
        described = re.search("unknown fields|неизвестн", str(call.description), re.IGNORECASE)
    assert response.body["warnings"]
    assert named is (described is not None) is (response.status == 422)
