"""The admin's page of alerts: what is open, what was, who is told, and what alerts there are."""

import re
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from channels.vendor_accounts import operator_mail
from operator_admin.alerts import notices
from operator_admin.alerts.rules import RULES, Rule
from operator_admin.models import Alert, TelegramNotice
from operator_admin.site import page

_PLACEHOLDER = re.compile(r"%\(\w+\)s")
SHOWN = timedelta(days=7)
MAX_OVER = 100


@dataclass(frozen=True, slots=True)
class RuleText:
    """A rule without an alert, whose facts are not there yet."""

    name: str
    title: str
    cure: str
    minutes: int


def describe(name: str, rule: Rule) -> RuleText:
    title = _PLACEHOLDER.sub("…", str(rule.title))
    cure = _PLACEHOLDER.sub(_("as the doctor says"), str(rule.cure))
    return RuleText(name, title, cure, int(rule.pending.total_seconds() // 60))


@page("alerts/", "alerts")
def alerts(request: HttpRequest) -> HttpResponse:
    firing = Alert.objects.firing().order_by("-began_at")
    over = Alert.objects.filter(ended_at__gte=timezone.now() - SHOWN, rule__in=RULES)
    refused = TelegramNotice.objects.exclude(error="").order_by("-pk").first()
    context = {
        **admin.site.each_context(request),
        "title": gettext_lazy("Alerts"),
        "firing": [notices.word(alert) for alert in firing if alert.rule in RULES],
        "over": [notices.word(alert) for alert in over.order_by("-ended_at")[:MAX_OVER]],
        "telegram_error": refused.error if refused else "",
        "addresses": [address for address, _language in operator_mail.recipients()],
        "chat": settings.OPERATOR_TELEGRAM_CHAT_ID if notices.chat() else "",
        "muted": sorted(settings.OPERATOR_MUTED_ALERTS),
        "rules": [describe(name, rule) for name, rule in RULES.items()],
    }
    return TemplateResponse(request, "operator_admin/alerts.html", context)
