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

from api_docs.pages.views import in_requested_language
from catalogue.languages import page_languages
from operator_admin.models import Incident
from operator_admin.status import summary
from operator_admin.status.summary import Component, Day, Summary

CACHE_CONTROL = "public, max-age=15"
_bodies: dict[str | None, tuple[datetime, str]] = {}
FEED_TYPE = "application/atom+xml; charset=utf-8"


@require_safe
@in_requested_language
def page(request: HttpRequest) -> HttpResponse:
    current = summary.get()
    context = {"summary": current, "body": _body(current) if current else ""}
    response = render(request, "status/page.html", context, status=200 if current else 503)
    response["Cache-Control"] = "private, max-age=15"  # in the reader's language
    return response


def _body(summary: Summary) -> str:
    """The page's body, rendered once per language and state: an outage brings many readers."""
    language = translation.get_language()
    at, body = _bodies.get(language, (None, ""))
    if at != summary.at:
        context = {"summary": summary, "language": language}
        body = render_to_string("status/body.html", context)
        _bodies[language] = (summary.at, body)
    return body


@require_safe
def as_json(request: HttpRequest) -> HttpResponse:
    current = summary.get()
    if current is None:
        return JsonResponse({"status": "unknown"}, status=503)
    response = JsonResponse(_document(current), json_dumps_params={"ensure_ascii": False})
    response["Cache-Control"] = CACHE_CONTROL
    response["Access-Control-Allow-Origin"] = "*"
    return response


@require_safe
@in_requested_language
def as_feed(request: HttpRequest) -> HttpResponse:
    current = summary.get()
    language = translation.get_language()
    url = f"{settings.PUBLIC_URL}/status"
    feed = Atom1Feed(
        title=_("Kvitok: status"),
        link=url,
        description="",
        language=language,
        feed_url=f"{settings.PUBLIC_URL}/status.atom",
    )
    for event in [*current.open, *current.planned, *current.resolved] if current else []:
        for update in event.newest_updates:
            feed.add_item(
                title=f"{event.title}: {update.get_state_display()}",
                link=f"{url}#incident-{event.pk}",
                description=update.text,
                unique_id=f"{url}#update-{update.pk}",
                updateddate=update.created_at,
            )
    response = HttpResponse(feed.writeString("utf-8"), content_type=FEED_TYPE)
    response["Cache-Control"] = "private, max-age=15"
    return response


def _document(summary: Summary) -> dict[str, Any]:
    return {
        "status": summary.level,
        "updated_at": summary.at.isoformat(),
        "components": [_component(component) for component in summary.components],
        "incidents": [_incident(incident) for incident in summary.open],
        "planned": [_incident(incident) for incident in summary.planned],
        "history": [_incident(incident) for incident in summary.resolved],
    }


def _component(component: Component) -> dict[str, Any]:
    with translation.override(page_languages.worldwide()):
        title = component.title
    return {
        "name": component.name,
        "title": title,
        "status": component.level,
        "days": [_day(day) for day in component.days],
    }


def _day(day: Day) -> dict[str, Any]:
    return {
        "day": day.day.isoformat(),
        "status": day.level or "unknown",
        "share": day.share,
        "median_seconds": day.median_seconds,
        "minutes_measured": day.minutes,
    }


def _in_order(texts: dict[str, str]) -> dict[str, str]:
    return {code: texts[code] for code in page_languages.codes()}  # jsonb sorts its keys


def _incident(event: Incident) -> dict[str, Any]:
    ended = event.resolved_at
    return {
        "id": event.pk,
        "title": _in_order(event.titles),
        "impact": event.impact,
        "state": event.state,
        "channel": event.channel or None,
        "began_at": event.began_at.isoformat(),
        "resolved_at": ended.isoformat() if ended else None,
        "updates": [
            {
                "state": update.state,
                "text": _in_order(update.texts),
                "at": update.created_at.isoformat(),
            }
            for update in event.newest_updates
        ],
    }
