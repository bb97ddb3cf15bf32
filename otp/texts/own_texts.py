"""A company's own texts: how the send path reads them, and each verb that changes them."""

from typing import Any

import orjson
from django.core.exceptions import ValidationError
from django.db import connection, transaction
from django.utils.translation import gettext as _

from accounts.audit.events import record
from accounts.keys import api_keys
from accounts.keys.own_texts import CompanyTexts, texts_of
from accounts.models import Company, User
from otp import sql
from otp.models import Autofill, CodeText
from otp.texts import rendering, rules

MAX_TEXTS = 50  # texts of one company
SMS_CHANNELS = {"", "sms"}


def parse(column: str) -> CompanyTexts:
    """`sql.OWN_TEXTS` as it comes: JSON that Django leaves as text."""
    bodies, lines = {}, ("", "")
    for locale, purpose, channel, body in orjson.loads(column):
        if locale:
            bodies[locale, purpose, channel] = body
        else:
            lines = (purpose, channel)
    return CompanyTexts(bodies, *lines)


def of_company(company: Company) -> CompanyTexts:
    with connection.cursor() as cursor:
        cursor.execute(sql.SELECT_OWN_TEXTS, [company.pk])
        return texts_of(cursor.fetchone()[0])


@transaction.atomic
def save(*, company: Company, text: CodeText, user: User, ip: str | None = None) -> None:
    """Add a text or change it; raises ValidationError. It is in force within two seconds."""
    _lock(company)
    is_new = text.pk is None
    _refuse_duplicate(company, text)
    if is_new and company.code_texts.count() >= MAX_TEXTS:
        raise ValidationError(
            _("A company has up to %(n)d texts: delete one first.") % {"n": MAX_TEXTS}
        )
    rules.check(text.body)
    if text.channel in SMS_CHANNELS:
        rules.check_length(text.body, rendering.autofill_lines(of_company(company)))
    text.company = company
    text.save()
    action = "text.created" if is_new else "text.changed"
    record(action, text, company=company, user=user, ip=ip)
    _invalidate_keys(company)


def _refuse_duplicate(company: Company, text: CodeText) -> None:
    like_it = company.code_texts.filter(
        purpose=text.purpose, channel=text.channel, locale=text.locale
    )
    if like_it.exclude(pk=text.pk).exists():
        raise ValidationError(
            _("There is a text for this purpose, channel and language: change that one.")
        )


@transaction.atomic
def delete(*, text: CodeText, user: User, ip: str | None = None) -> None:
    """Messages accepted with it keep it."""
    record("text.deleted", text, company=text.company, user=user, ip=ip)
    company = text.company
    text.delete()
    _invalidate_keys(company)


@transaction.atomic
def set_autofill(
    *, company: Company, webotp_host: str, app_hash: str, user: User, ip: str | None = None
) -> None:
    """Set the lines of autofill; raises ValidationError when a text would grow too long."""
    _lock(company)
    own = of_company(company)
    new = own._replace(webotp_host=webotp_host, app_hash=app_hash)
    if new == own:
        return
    _refuse_texts_too_long(company, new)
    changes = {"webotp_host": webotp_host, "app_hash": app_hash}
    Autofill.objects.update_or_create(company=company, defaults=changes)
    record("autofill.changed", _audit_subject(changes), company=company, user=user, ip=ip)
    _invalidate_keys(company)


def _audit_subject(changes: dict[str, Any]) -> str:
    return " · ".join(value for value in changes.values() if value) or "—"


def _refuse_texts_too_long(company: Company, own: CompanyTexts) -> None:
    tail = rendering.autofill_lines(own)
    bodies = [text.body for text in company.code_texts.filter(channel__in=SMS_CHANNELS)]
    for body in [*rendering.TEXTS.values(), *bodies]:
        try:
            rules.check_length(body, tail)
        except ValidationError as error:
            told = {"text": body[:60], "why": " ".join(error.messages)}
            raise ValidationError(_("The text “%(text)s”: %(why)s") % told) from None


def _lock(company: Company) -> None:
    # So that a text and the lines below it, saved at once, do not make an SMS of four parts.
    Company.objects.select_for_update(no_key=True).get(pk=company.pk)


def _invalidate_keys(company: Company) -> None:
    digests = [bytes(one) for one in company.api_keys.active().values_list("digest", flat=True)]

    def forget() -> None:
        for digest in digests:
            api_keys.evict(digest)

    transaction.on_commit(forget)
