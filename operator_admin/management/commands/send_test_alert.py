"""`manage.py send_test_alert`: sends a test to every address of the operators."""

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import translation
from django.utils.translation import gettext as _

from channels.vendor_accounts import operator_mail
from operator_admin.alerts import notifications


class Command(BaseCommand):
    help = (
        "Send a test alert to OPERATOR_EMAILS (or to everyone in the admin) and to the Telegram "
        "chat, without the outboxes. Exit code 1 if sending one fails, or if there is no address."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        errors = {}
        for address, language in operator_mail.recipients():
            with translation.override(language):
                errors[address] = notifications.send_mail(_alert_subject(), _alert_text(), address)
        if notifications.chat():
            with translation.override(settings.OPERATOR_LANGUAGE):
                error = notifications.send_telegram(f"{_alert_subject()}\n{_alert_text()}")
            errors[f"Telegram {settings.OPERATOR_TELEGRAM_CHAT_ID}"] = error
        else:
            self.stdout.write("– Telegram: OPERATOR_TELEGRAM_CHAT_ID is not set")
        for recipient, error in errors.items():
            style = self.style.ERROR if error else self.style.SUCCESS
            self.stdout.write(
                f"{style('✗' if error else '✓')} {recipient}{': ' if error else ''}{error}"
            )
        if not errors:
            raise CommandError("Nobody would get an alert: set OPERATOR_EMAILS.")
        if any(errors.values()):
            raise CommandError("Not all of them could be sent.")


def _alert_subject() -> str:
    host = urlsplit(settings.PUBLIC_URL).hostname
    return _("Kvitok: a test of alerts from %(host)s") % {"host": host}


def _alert_text() -> str:
    return _("Alerts reach you here. Nothing is wrong, and there is nothing to do.")
