"""Sign-up without account enumeration, neither by its answer nor by its timing."""

from typing import Any
from uuid import uuid4

from allauth.account.adapter import get_adapter
from allauth.account.forms import SignupForm
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.http import HttpRequest

from accounts.models import User
from accounts.sign_in import passwords
from accounts.sign_in.password_forms import BoundedPasswordsMixin


class EnumerationSafeSignupForm(BoundedPasswordsMixin, SignupForm):
    """Does the same work for a known address as for a new one, then rolls it back."""

    def clean(self) -> dict[str, Any]:
        """Rate the password against the company name as well, which validators cannot know yet."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if password := cleaned.get("password1"):
            known = passwords.words_of(cleaned.get("email", ""), cleaned.get("company", ""))
            try:
                passwords.require_strong(password, known)
            except ValidationError as error:
                if not self.has_error("password1", error.code):
                    self.add_error("password1", error)
        return cleaned

    def try_save(self, request: HttpRequest) -> Any:
        try:
            with transaction.atomic():  # user and company commit together
                if not self.account_already_exists:
                    return super().try_save(request)
                self._rehearse(request)
                transaction.set_rollback(True)
        except IntegrityError:
            if not User.objects.filter(email__iexact=self.cleaned_data["email"]).exists():
                raise
            # A parallel second click created the account and sent its e-mail. Another one, which
            # says that the account exists already, would replace it.
            return None, get_adapter().respond_email_verification_sent(request, None)
        return super().try_save(request)

    def _rehearse(self, request: HttpRequest) -> None:
        email = self.cleaned_data["email"]
        self.account_already_exists = False
        self.cleaned_data["email"] = f"{uuid4()}@nobody.invalid"  # RFC 2606: never anybody's
        self.save(request)
        self.account_already_exists = True
        self.cleaned_data["email"] = email
