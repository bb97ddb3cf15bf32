"""allauth's sign-in made ours: the name on letters, whose address counts, the user's language."""

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core import context as allauth
from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.core.mail import EmailMultiAlternatives
from django.http import HttpRequest, HttpResponse

from accounts import mail
from accounts.addresses import client_ip
from accounts.models import User

SITE = "Kvitok"


def remember_language(response: HttpResponse, language: str) -> None:
    response.set_cookie(
        settings.LANGUAGE_COOKIE_NAME,
        language,
        max_age=365 * 24 * 3600,
        secure=settings.SESSION_COOKIE_SECURE,
        samesite="Lax",
    )


class AccountAdapter(DefaultAccountAdapter):
    def format_email_subject(self, subject: str) -> str:
        return f"{SITE}: {subject}"

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Into the outbox: no page waits for a mail server, and none fails with it."""
        site = {"name": SITE, "domain": settings.PUBLIC_URL}
        words = {
            "request": allauth.request,
            "email": email,
            "current_site": site,
            "site_url": settings.PUBLIC_URL,
        }
        letter = self.render_mail(template_prefix, email, words | context)
        parts = letter.alternatives if isinstance(letter, EmailMultiAlternatives) else []
        html = [str(part) for part, kind in parts if kind == "text/html"]
        mail.append(
            template=template_prefix,
            to=email,
            subject=str(letter.subject),
            text=str(letter.body),
            html="".join(html),
        )

    def get_client_ip(self, request: HttpRequest) -> str:
        return client_ip(request.META) or "unknown"

    def post_login(
        self, request: HttpRequest, user: AbstractBaseUser, **kwargs: Any
    ) -> HttpResponse:
        response = super().post_login(request, user, **kwargs)
        if isinstance(user, User):
            remember_language(response, user.language)
        return response
