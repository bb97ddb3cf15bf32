"""One-time links open once, by a button, and hide their target until then."""

from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
import time_machine
from django.utils import timezone
from pytest_django import Settings

from links.follow import cached_row, resolution, visitor_forms
from links.follow.cached_row import redis_key
from links.follow.resolution import Resolver
from links.models import Link
from storage.redis_client import redis_client
from tests.api.races import at_once
from tests.factories import LinkFactory, MessageFactory
from tests.links import mmdb
from tests.links.visiting import BROWSER, Ask, call, counted, in_seconds, nonce_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.urls("tests.links.visiting")]
SECRET = "https://shop.example/reset?token=abcdef"


@pytest.fixture
def link() -> Link:
    return LinkFactory.create(url=SECRET, is_once=True)


def press(ask: Ask, link: Link, nonce: str | None = None, **headers: str) -> tuple[int, str | None]:
    form = {"nonce": nonce or visitor_forms.issue_nonce(link.id.hex)}
    status, answered, _ = ask(f"/{link.slug}", method="POST", form=form, **headers)
    return status, answered.get("Location")


def test_page_names_the_site_and_hides_the_rest(ask: Ask, link: Link) -> None:
    status, _, body = ask(f"/{link.slug}", HTTP_ACCEPT_LANGUAGE="en")

    page = body.decode()
    assert status == 200
    assert "shop.example" in page
    assert "token" not in page
    assert ("This link opens once" in page, "открывается один раз" in page) == (True, True)


def test_redis_never_holds_the_target(ask: Ask, link: Link) -> None:
    link.url = "https://user:pass@shop.example/reset?token=abcdef"
    link.save()
    resolution.cache_new(link)
    ask(f"/{link.slug}")

    known = redis_client().get(redis_key(link.key))
    assert isinstance(known, bytes)
    assert b'"https://shop.example/"' in known
    assert b"token" not in known


def test_button_opens_the_link_once(ask: Ask, link: Link) -> None:
    _, _, page = ask(f"/{link.slug}")
    nonce = nonce_of(page)

    responses = [press(ask, link, nonce) for _ in range(2)]

    assert responses == [(303, SECRET), (410, None)]
    assert ask(f"/{link.slug}")[0] == 410
    assert Resolver().resolve(link.slug) is not cached_row.NOT_FOUND


def test_viewing_the_page_does_not_open_the_link(ask: Ask, link: Link) -> None:
    for method in ("GET", "HEAD", "GET"):
        assert ask(f"/{link.slug}", method=method)[0] == 200

    assert press(ask, link) == (303, SECRET)


def test_concurrent_visitors_open_the_link_once(link: Link) -> None:
    responses = at_once([partial(press, call, link)] * 6)

    assert sorted(responses, key=str) == [(303, SECRET), *[(410, None)] * 5]


@pytest.mark.parametrize("nonce", ["", "x", "a:b", "1tDOvB:AAAA", "\u0000", "ы"])
def test_form_without_its_page_does_not_open_the_link(ask: Ask, link: Link, nonce: str) -> None:
    status, answered, body = ask(f"/{link.slug}", method="POST", form={"nonce": nonce})

    assert (status, "Location" in answered) == (403, False)
    assert press(ask, link, nonce_of(body)) == (303, SECRET)


def test_page_of_another_link_does_not_open_the_link(ask: Ask, link: Link) -> None:
    other = LinkFactory.create(is_once=True)

    assert press(ask, link, visitor_forms.issue_nonce(other.id.hex)) == (403, None)


def test_expired_nonce_shows_the_page_again(ask: Ask, link: Link) -> None:
    nonce = visitor_forms.issue_nonce(link.id.hex)

    with time_machine.travel(
        timezone.now() + timedelta(seconds=visitor_forms.NONCE_LIFETIME + 1), tick=False
    ):
        assert press(ask, link, nonce) == (403, None)


@pytest.mark.parametrize(
    "body",
    [
        {"CONTENT_TYPE": "application/json"},
        {"CONTENT_LENGTH": "x"},
        {"CONTENT_LENGTH": ""},
        {"CONTENT_LENGTH": "999999"},
        {"CONTENT_TYPE": ""},
    ],
)
def test_malformed_form_does_not_open_the_link(link: Link, body: dict[str, str]) -> None:
    assert press(call, link, **body) == (403, None)


def test_failed_click_count_does_not_block_opening(
    ask: Ask, link: Link, settings: Settings, tmp_path: Path
) -> None:
    path = tmp_path / "other.mmdb"
    path.write_bytes(mmdb.database({"127.0.0.0/8": mmdb.text("KZ")}))
    settings.COUNTRY_DATABASE = str(path)

    assert press(ask, link) == (303, SECRET)


def test_stale_cache_does_not_open_a_used_link(link: Link) -> None:
    resolution.resolve(link.slug)

    Link.objects.filter(pk=link.pk).update(disabled_at=timezone.now())  # and nobody is told

    assert call(f"/{link.slug}")[0] == 410
    assert press(call, link) == (410, None)


def test_click_is_counted_when_the_button_is_pressed(ask: Ask, link: Link) -> None:
    ask(f"/{link.slug}")
    ask(f"/{link.slug}", method="HEAD")
    ask(f"/{link.slug}", HTTP_USER_AGENT="WhatsApp/2.23.20.0 A")
    ask(f"/{link.slug}", HTTP_USER_AGENT="curl/8.5.0")
    press(ask, link, HTTP_USER_AGENT=BROWSER)
    press(ask, link, HTTP_USER_AGENT=BROWSER)

    kinds = [kind for _, kind in counted()]

    assert kinds == ["probe", "preview", "scanner", "person"]


def test_tags_are_added_when_the_link_opens(ask: Ask) -> None:
    message = MessageFactory.create(channel="telegram")
    link = LinkFactory.create(
        is_once=True, url="https://shop.example/", utm="utm_medium={channel}", message_id=message.pk
    )

    assert press(ask, link) == (303, "https://shop.example/?utm_medium=telegram")


def test_expiry_counts_to_the_second_though_cached(ask: Ask) -> None:
    link = LinkFactory.create(is_once=True, expires_at=in_seconds(60))
    ask(f"/{link.slug}")

    Link.objects.filter(pk=link.pk).update(expires_at=in_seconds(-1))

    assert press(ask, link) == (410, None)


def test_form_with_too_many_fields_does_not_open_the_link(ask: Ask, link: Link) -> None:
    form = {"nonce": visitor_forms.issue_nonce(link.id.hex)} | {
        str(number): "" for number in range(2_000)
    }

    responses = [ask(f"/{link.slug}{end}", method="POST", form=form)[0] for end in ("", "+")]

    assert set(responses) <= {400, 403}
    assert press(ask, link) == (303, SECRET)
