"""allauth's forms with a password: passwords are bounded, and no form reveals an account."""

from typing import TYPE_CHECKING, Any
from uuid import uuid4

from allauth.account import forms as allauth
from allauth.account.adapter import get_adapter
from allauth.account.fields import PasswordField
from django import forms
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from accounts.audit import record_authentication_event
from accounts.models import User
from accounts.security.notifications import primary_address
from accounts.sign_in import passwords
from accounts.sign_in.addresses import as_stored, is_claimed
from accounts.sign_in.passwords import require_bounded

# Replaces the help texts of the validators; an error says what is wrong with a password.
NEW_PASSWORD = _("12 characters or more; four random words are best.")


if TYPE_CHECKING:
    Base = forms.Form
else:  # allauth's forms derive from it already
    Base = object


class BoundedPasswordsMixin(Base):
    """Checks the length before a password is rated, hashed or compared."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            if isinstance(field, PasswordField):
                field.validators = [*field.validators, require_bounded]
        if "password1" in self.fields:  # allauth's name for a new password
            self.fields["password1"].help_text = NEW_PASSWORD


class LoginForm(BoundedPasswordsMixin, allauth.LoginForm):
    def clean_login(self) -> str:
        return as_stored(super().clean_login())


class ReauthenticateForm(BoundedPasswordsMixin, allauth.ReauthenticateForm):
    pass


class ChangePasswordForm(BoundedPasswordsMixin, allauth.ChangePasswordForm):
    pass


class SetPasswordForm(BoundedPasswordsMixin, allauth.SetPasswordForm):
    pass


class ResetPasswordKeyForm(BoundedPasswordsMixin, allauth.ResetPasswordKeyForm):
    def clean(self) -> dict[str, Any]:
        """Validates under the user's lock, held until the password is set: a link submitted twice
        at once works once. There is no user if the link was used before.
        """
        users = User.objects.select_for_update(no_key=True)
        user = users.filter(pk=self.user.pk).first() if self.user else None
        if not allauth.default_token_generator.check_token(user, self.temp_key):
            raise get_adapter().validation_error("invalid_password_reset")
        cleaned: dict[str, Any] = super().clean()  # type: ignore[no-untyped-call]
        return cleaned


class ResetPasswordForm(allauth.ResetPasswordForm):
    """Sends a link to the primary address only: no other address may take the account over."""

    users: list[User]

    def clean_email(self) -> str:
        self.cleaned_data["email"] = as_stored(self.cleaned_data["email"])
        email: str = super().clean_email()
        self.users = [user for user in self.users if _may_reset(user, email)]
        return email

    def save(self, request: HttpRequest, **kwargs: object) -> str:
        email: str = super().save(request, **kwargs)
        record_authentication_event(
            "password.reset_requested", user=next(iter(self.users), None), request=request
        )
        return email


def _may_reset(user: User, email: str) -> bool:
    """Whether the address may reset the password: it is the primary one, and confirmed unless the
    account has no confirmed address.
    """
    if primary_address(user).lower() != email.lower():
        return False
    addresses = list(user.emailaddress_set.all())
    is_confirmed = any(row.verified and row.email.lower() == email.lower() for row in addresses)
    return is_confirmed or not any(row.verified for row in addresses)


class EnumerationSafeSignupForm(BoundedPasswordsMixin, allauth.SignupForm):
    """Neither response nor timing reveals an account: an address that has one costs the same work
    as a new address, rolled back afterwards.
    """

    def validate_unique_email(self, value: str) -> str:
        email: str = super().validate_unique_email(value)
        self.account_already_exists &= is_claimed(email)
        return email

    def clean(self) -> dict[str, Any]:
        """Rates the password against the company name as well, which validators cannot know yet."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if password := cleaned.get("password1"):
            personal = passwords.words_of(cleaned.get("email", ""), cleaned.get("company", ""))
            try:
                passwords.require_strong(password, personal)
            except ValidationError as error:
                if not self.has_error("password1", error.code):
                    self.add_error("password1", error)
        return cleaned

    def try_save(self, request: HttpRequest) -> Any:
        try:
            with transaction.atomic():  # user and company commit together
                if not self.account_already_exists:
                    return super().try_save(request)
                self._sign_up_somebody_else(request)
                transaction.set_rollback(True)
        except IntegrityError:
            if not User.objects.filter(email__iexact=self.cleaned_data["email"]).exists():
                raise
            # A parallel second click created the account and sent its e-mail. Another one, which
            # says that the account exists already, would replace it.
            return None, get_adapter().respond_email_verification_sent(request, None)
        return super().try_save(request)

    def _sign_up_somebody_else(self, request: HttpRequest) -> None:
        email = self.cleaned_data["email"]
        self.account_already_exists = False
        self.cleaned_data["email"] = f"{uuid4()}@nobody.invalid"  # RFC 2606: belongs to nobody
        self.save(request)
        self.account_already_exists = True
        self.cleaned_data["email"] = email
