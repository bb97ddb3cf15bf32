"""`manage.py send_test_alert`: writes to every address of the operators now."""

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.core.management.base import BaseCommand, CommandError
from django.utils import translation
from django.utils.translation import gettext as _

from channels.providers.base import SendError
from channels.vendor_accounts import operator_mail
from operator_admin.alerts import notices


class Command(BaseCommand):
    help = (
        "Send a test alert to OPERATOR_EMAILS (or to everyone in the admin) and to the Telegram "
        "chat, past the outboxes. Exit code 1 if one of them is not taken, or if there is none."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        results = [self._mail(*recipient) for recipient in operator_mail.recipients()]
        if notices.chat():
            results.append(self._telegram())
        else:
            self.stdout.write("– Telegram: OPERATOR_TELEGRAM_CHAT_ID is not set")
        if not results:
            raise CommandError("Nobody would get an alert: set OPERATOR_EMAILS.")
        if not all(results):
            raise CommandError("Not all of them were taken.")

    def _mail(self, address: str, language: str) -> bool:
        with translation.override(language):
            message = EmailMessage(_subject(), _text(), to=[address], connection=get_connection())
        try:
            message.send()
        except OSError as error:  # smtplib's errors are subclasses
            return self._say(address, type(error).__name__)
        return self._say(address)

    def _telegram(self) -> bool:
        bot = notices.chat()
        assert bot is not None  # noqa: S101 - the caller looked
        with translation.override(settings.OPERATOR_LANGUAGE):
            text = f"{_subject()}\n{_text()}"
        try:
            bot.notify(settings.OPERATOR_TELEGRAM_CHAT_ID, text)
        except SendError as error:
            return self._say(f"Telegram {settings.OPERATOR_TELEGRAM_CHAT_ID}", str(error))
        return self._say(f"Telegram {settings.OPERATOR_TELEGRAM_CHAT_ID}")

    def _say(self, whom: str, error: str = "") -> bool:
        style = self.style.ERROR if error else self.style.SUCCESS
        self.stdout.write(f"{style('✗' if error else '✓')} {whom}{': ' if error else ''}{error}")
        return not error


def _subject() -> str:
    return _("Kvitok: a test of alerts from %(host)s") % {
        "host": urlsplit(settings.PUBLIC_URL).hostname
    }


def _text() -> str:
    return _("Alerts reach you here. Nothing is wrong, and there is nothing to do.")
