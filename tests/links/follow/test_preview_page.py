"""The preview page of a link, and reports of links."""

from datetime import UTC, datetime

import pytest
from pytest_django import Settings

from accounts.models import Company
from links.addresses import short_hosts
from links.follow import preview_page, visitor_forms
from links.models import Link, Report
from tests.api.races import at_once
from tests.factories import CompanyFactory, LinkFactory, ShortHostFactory
from tests.links.visiting import Ask, call, counted, in_seconds, nonce_of, without_redis
from tests.sql import execute

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.links.visiting")]


@pytest.fixture
def company() -> Company:
    return CompanyFactory.create(name='Acme <b>& "Co"')


@pytest.fixture
def link(company: Company) -> Link:
    return LinkFactory.create(
        company=company,
        url="https://shop.example/a?b=<script>&c=1",
        expires_at=datetime(2031, 5, 25, 12, tzinfo=UTC),
    )


def page(ask: Ask, link: Link, **headers: str) -> str:
    status, _, body = ask(f"/{link.slug}+", **headers)
    assert status == 200
    return body.decode()


def send(
    ask: Ask, link: Link, *, reason: str = "phishing", nonce: str | None = None, **fields: str
) -> tuple[int, str]:
    form = {"reason": reason, "nonce": nonce or visitor_forms.issue_nonce(link.id.hex), **fields}
    status, _, body = ask(f"/{link.slug}+", method="POST", form=form)
    return status, body.decode()


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", ["About this link", "Acme &lt;b&gt;&amp;", "shop.example", "25 May 2031 15:00 MSK"]),
        ("ru", ["Об этой ссылке", "Acme &lt;b&gt;&amp;", "shop.example", "25 мая 2031 15:00 МСК"]),
    ],
)
def test_page_describes_the_link(ask: Ask, link: Link, language: str, text: list[str]) -> None:
    html = page(ask, link, HTTP_ACCEPT_LANGUAGE=language)

    assert [word for word in text if word not in html] == []
    assert link.short_url in html
    assert "https://shop.example/a?b=&lt;script&gt;&amp;c=1" in html


def test_page_loads_only_its_stylesheet(ask: Ask, link: Link) -> None:
    html = page(ask, link)

    assert ("<a " in html, "<img" in html, "<script" in html, "og:" in html) == (False,) * 4
    assert html.count("href=") == 1
    assert counted() == []


def test_target_of_a_one_time_link_is_hidden(ask: Ask) -> None:
    html = page(ask, LinkFactory.create(is_once=True, url="https://shop.example/reset?token=abc"))

    assert ("shop.example" in html, "token" in html) == (True, False)


@pytest.mark.parametrize("end", ["+", "%2B", "+.", "+)", "+»", ".+", "+\u200b", "++"])
def test_preview_suffix_is_recognised_in_any_spelling(ask: Ask, link: Link, end: str) -> None:
    assert ask(f"/{link.slug}{end}")[0] == 200


def test_preview_works_under_a_company_host() -> None:
    host = ShortHostFactory.create(host="go.acme.example")
    short_hosts.invalidate_cache()
    link = LinkFactory.create(host=host, slug="bcdfGHJK")

    status, _, body = call(f"/{link.slug}+", host="go.acme.example")

    assert (status, call(f"/{link.slug}+")[0]) == (200, 404)
    assert "go.acme.example/bcdfGHJK" in body.decode()
    short_hosts.invalidate_cache()


def test_report_is_kept_for_the_operator(ask: Ask, link: Link) -> None:
    _, _, body = ask(f"/{link.slug}+")

    status, html = send(ask, link, nonce=nonce_of(body), words="Просят пароль")

    kept = Report.objects.get()
    assert (status, "Спасибо" in html) == (200, True)
    assert (kept.link, kept.reason, kept.words) == (link, "phishing", "Просят пароль")
    assert kept.handled_at is None
    assert Report.objects.filter(handled_at=None).count() == 1


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"reason": "nonsense"}, 400),
        ({"reason": ""}, 400),
        ({"words": "x" * 501}, 400),
        ({"words": "a\u0000b"}, 400),
        ({"nonce": "wrong"}, 403),
    ],
)
def test_invalid_report_shows_the_form_again(
    ask: Ask, link: Link, fields: dict[str, str], status: int
) -> None:
    html, body = send(ask, link, **fields)

    assert html == status
    assert nonce_of(body.encode())
    assert not Report.objects.exists()


def test_report_by_a_bot_is_dropped(ask: Ask, link: Link) -> None:
    status, html = send(ask, link, website="https://spam.example")

    assert (status, "Спасибо" in html) == (200, True)
    assert not Report.objects.exists()


def test_reports_of_one_visitor_are_limited(ask: Ask, link: Link) -> None:
    assert [send(ask, link)[0] for _ in range(6)] == [200] * 5 + [429]
    assert Report.objects.count() == 5


def test_report_is_accepted_without_redis(ask: Ask, link: Link, settings: Settings) -> None:
    with without_redis(settings):
        assert send(ask, link)[0] == 200

    assert Report.objects.count() == 1


def test_pending_reports_of_one_link_are_limited(ask: Ask, link: Link) -> None:
    Report.objects.bulk_create(
        [Report(link=link, reason="spam")] * preview_page.MAX_PENDING_PER_LINK
    )

    assert send(ask, link)[0] == 200
    assert Report.objects.count() == preview_page.MAX_PENDING_PER_LINK


@pytest.mark.django_db(transaction=True)
def test_parallel_reports_keep_to_the_limit(link: Link, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preview_page, "MAX_PENDING_PER_LINK", 2)
    execute(
        "CREATE FUNCTION be_slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        " PERFORM pg_sleep(0.3); RETURN NEW; END $$;"
        " CREATE TRIGGER slow BEFORE INSERT ON links_report"
        " FOR EACH ROW EXECUTE FUNCTION be_slow()"
    )
    try:
        at_once([lambda: preview_page.submit(link_id=link.pk, reason="spam", text="")] * 8)
    finally:
        execute("DROP FUNCTION be_slow CASCADE")

    assert Report.objects.count() == 2


def test_dead_link_accepts_no_report(ask: Ask) -> None:
    link = LinkFactory.create(expires_at=in_seconds(-1))

    assert send(ask, link)[0] == 410
    assert not Report.objects.exists()


def test_other_methods_get_405(ask: Ask, link: Link) -> None:
    status, headers, _ = ask(f"/{link.slug}+", method="PUT")

    assert (status, headers["Allow"]) == (405, "GET, HEAD, POST")
