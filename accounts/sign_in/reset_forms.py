"""allauth's password reset, restricted to the primary address."""

from allauth.account.forms import ResetPasswordForm as AllauthResetPasswordForm
from django.http import HttpRequest

from accounts.audit.authentication_events import record
from accounts.models import User
from accounts.security.notifications import primary_address


class ResetPasswordForm(AllauthResetPasswordForm):
    """Only the primary address gets a link: no other address may take the account over."""

    users: list[User]

    def clean_email(self) -> str:
        email: str = super().clean_email()
        self.users = [one for one in self.users if _may_reset(one, email)]
        return email

    def save(self, request: HttpRequest, **kwargs: object) -> str:
        email: str = super().save(request, **kwargs)
        record("password.reset_requested", user=next(iter(self.users), None), request=request)
        return email


def _may_reset(user: User, email: str) -> bool:
    """Only the primary address, confirmed unless the account has no confirmed address."""
    if primary_address(user).lower() != email.lower():
        return False
    addresses = list(user.emailaddress_set.all())
    is_confirmed = any(one.verified and one.email.lower() == email.lower() for one in addresses)
    return is_confirmed or not any(one.verified for one in addresses)
