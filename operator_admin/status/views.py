"""The public status page, for people, machines and feed readers. Open to all, without a session."""

from datetime import datetime
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.feedgenerator import Atom1Feed
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from api_docs.pages.views import in_asked_language
from operator_admin.status import summary
from operator_admin.status.summary import Component, Day, Event, Summary

CACHE_CONTROL = "public, max-age=15"
_bodies: dict[str | None, tuple[datetime, str]] = {}
FEED_TYPE = "application/atom+xml; charset=utf-8"


@require_safe
@in_asked_language
def page(request: HttpRequest) -> HttpResponse:
    found = summary.get()
    context = {"summary": found, "body": _body(found) if found else ""}
    response = render(request, "status/page.html", context, status=200 if found else 503)
    response["Cache-Control"] = "private, max-age=15"  # in the reader's language
    return response


def _body(found: Summary) -> str:
    """Rendered once per language and state: a rush of readers costs a look-up each."""
    language = translation.get_language()
    at, body = _bodies.get(language, (None, ""))
    if at != found.at:
        context = {"summary": found, "language": language}
        body = render_to_string("status/body.html", context)
        _bodies[language] = (found.at, body)
    return body


@require_safe
def as_json(request: HttpRequest) -> HttpResponse:
    found = summary.get()
    if found is None:
        return JsonResponse({"status": "unknown"}, status=503)
    response = JsonResponse(_document(found), json_dumps_params={"ensure_ascii": False})
    response["Cache-Control"] = CACHE_CONTROL
    response["Access-Control-Allow-Origin"] = "*"
    return response


@require_safe
@in_asked_language
def as_feed(request: HttpRequest) -> HttpResponse:
    found = summary.get()
    language = translation.get_language()
    url = f"{settings.PUBLIC_URL}/status"
    feed = Atom1Feed(
        title=_("Kvitok: status"), link=url, description="", language=language,
        feed_url=f"{settings.PUBLIC_URL}/status.atom",
    )  # fmt: skip
    for event in [*found.open, *found.planned, *found.over] if found else []:
        for update in event.updates:
            feed.add_item(
                title=f"{event.incident.title_in(language)}: {update.get_state_display()}",
                link=f"{url}#incident-{event.incident.pk}",
                description=update.text_in(language),
                unique_id=f"{url}#update-{update.pk}",
                updateddate=update.created_at,
            )
    response = HttpResponse(feed.writeString("utf-8"), content_type=FEED_TYPE)
    response["Cache-Control"] = "private, max-age=15"
    return response


def _document(found: Summary) -> dict[str, Any]:
    return {
        "status": found.level,
        "updated_at": found.at.isoformat(),
        "components": [_component(one) for one in found.components],
        "incidents": [_incident(one) for one in found.open],
        "planned": [_incident(one) for one in found.planned],
        "history": [_incident(one) for one in found.over],
    }


def _component(one: Component) -> dict[str, Any]:
    with translation.override("en"):
        title = one.title
    return {
        "name": one.name,
        "title": title,
        "status": one.level,
        "days": [_day(day) for day in one.days],
    }


def _day(one: Day) -> dict[str, Any]:
    return {
        "day": one.day.isoformat(),
        "status": one.level or "unknown",
        "share": one.share,
        "median_seconds": one.median_seconds,
        "minutes_measured": one.minutes,
    }


def _incident(one: Event) -> dict[str, Any]:
    ended = one.incident.resolved_at
    return {
        "id": one.incident.pk,
        "title": {"ru": one.incident.title_ru, "en": one.incident.title_en},
        "impact": one.incident.impact,
        "state": one.incident.state,
        "channel": one.incident.channel or None,
        "began_at": one.incident.began_at.isoformat(),
        "resolved_at": ended.isoformat() if ended else None,
        "updates": [
            {
                "state": update.state,
                "text": {"ru": update.text_ru, "en": update.text_en},
                "at": update.created_at.isoformat(),
            }
            for update in one.updates
        ],
    }
