"""A company's own texts: how the send path loads them, and the services that change them."""

from typing import Any

import orjson
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from accounts.audit import changes_of, record
from accounts.keys.api_keys import evict_keys
from accounts.keys.principal import CompanyTexts, texts_of
from accounts.masked_phones import mask_phones_in
from accounts.models import Company, User
from catalogue.channels import CHANNELS, Channel
from catalogue.languages import message_languages
from otp.models import Autofill, CodeText
from otp.texts import rules
from storage.statements import sql_files
from storage.statements.queries import fetch_value

_SQL = sql_files.read_several("otp/texts/own_texts.sql")
COLUMN = _SQL["column"]
AUDITED = ("purpose", "channel", "locale", "body")
MAX_TEXTS = 50  # per company
# The channels with texts of companies, the simplest first.
WORDED = [channel for channel in reversed(CHANNELS) if channel.has_own_texts]
SEGMENTED = {"", *(channel.name for channel in CHANNELS if channel.has_segments)}


def parse(column: str) -> CompanyTexts:
    """Parses the column `COLUMN`: JSON that Django returns as text."""
    bodies = {}
    lines = ("", "")
    for locale, purpose, channel, body in orjson.loads(column):
        if locale:
            bodies[locale, purpose, channel] = body
        else:
            lines = (purpose, channel)
    return CompanyTexts(bodies, *lines)


def template(texts: CompanyTexts, *, channel: Channel, locale: str, purpose: str) -> str | None:
    """The company's most specific text, where the channel shows one."""
    if not texts.bodies or not channel.has_own_texts:
        return None
    keys = [(purpose, channel.name), (purpose, ""), ("", channel.name), ("", "")]
    bodies = (texts.bodies.get((locale, *key)) for key in keys)
    return next((body for body in bodies if body), None)


def autofill_lines(texts: CompanyTexts) -> list[str]:
    """The lines of an SMS that browsers and apps parse.

    The browser's line must be the last (https://wicg.github.io/sms-one-time-codes/); Android finds
    its line anywhere in the text.
    """
    webotp = f"@{texts.webotp_host} #{{code}}" if texts.webotp_host else ""
    return [line for line in (texts.app_hash, webotp) if line]


def of_company(company: Company) -> CompanyTexts:
    return texts_of(fetch_value(_SQL["of_company"], [company.pk]))


@transaction.atomic
def save(*, company: Company, text: CodeText, user: User, ip: str | None = None) -> None:
    """Adds or changes a text; raises ValidationError. Takes effect within two seconds."""
    _lock(company)
    is_new = text.pk is None
    _refuse_duplicate(company, text)
    if is_new and company.code_texts.count() >= MAX_TEXTS:
        raise ValidationError(
            _("A company can have up to %(n)d texts. Delete one first.") % {"n": MAX_TEXTS}
        )
    rules.check(text.body)
    if text.channel in SEGMENTED:
        rules.check_length(text.body, autofill_lines(of_company(company)))
    text.company = company
    stored = None if is_new else CodeText.objects.get(pk=text.pk)
    values = changes_of(stored, {name: getattr(text, name) for name in AUDITED}) if stored else None
    text.save()
    action = "text.created" if is_new else "text.changed"
    record(action, mask_phones_in(str(text)), company=company, user=user, ip=ip, changes=values)
    evict_keys(company)


def _refuse_duplicate(company: Company, text: CodeText) -> None:
    duplicates = company.code_texts.filter(
        purpose=text.purpose, channel=text.channel, locale=text.locale
    )
    if duplicates.exclude(pk=text.pk).exists():
        raise ValidationError(
            _("A text for this purpose, channel and language already exists. Change that one.")
        )


@transaction.atomic
def delete(*, text: CodeText, user: User, ip: str | None = None) -> None:
    """Deletes a text; messages already accepted keep it."""
    company = text.company
    record("text.deleted", mask_phones_in(str(text)), company=company, user=user, ip=ip)
    text.delete()
    evict_keys(company)


@transaction.atomic
def set_autofill(
    *, company: Company, webotp_host: str, app_hash: str, user: User, ip: str | None = None
) -> None:
    """Sets the autofill lines; raises ValidationError if they make a text too long."""
    _lock(company)
    texts = of_company(company)
    new = texts._replace(webotp_host=webotp_host, app_hash=app_hash)
    if new == texts:
        return
    _refuse_texts_too_long(company, new)
    lines = {"webotp_host": webotp_host, "app_hash": app_hash}
    Autofill.objects.update_or_create(company=company, defaults=lines)
    values = changes_of(texts, lines)
    subject = _audit_subject(lines)
    record("autofill.changed", subject, company=company, user=user, ip=ip, changes=values)
    evict_keys(company)


def _audit_subject(changes: dict[str, Any]) -> str:
    return " · ".join(value for value in changes.values() if value) or "—"


def _refuse_texts_too_long(company: Company, texts: CompanyTexts) -> None:
    tail = autofill_lines(texts)
    bodies = [text.body for text in company.code_texts.filter(channel__in=SEGMENTED)]
    for body in [
        *(message_languages.texts(code)["code"] for code in message_languages.codes()),
        *bodies,
    ]:
        try:
            rules.check_length(body, tail)
        except ValidationError as error:
            values = {"text": body[:60], "why": " ".join(error.messages)}
            raise ValidationError(_("The text “%(text)s”: %(why)s") % values) from None


def _lock(company: Company) -> None:
    # A text and autofill lines saved in parallel could make an SMS of four segments.
    Company.objects.select_for_update(no_key=True).get(pk=company.pk)
