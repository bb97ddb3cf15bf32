"""allauth's password forms with a maximum length."""

from typing import TYPE_CHECKING, Any

from allauth.account import forms as allauth
from allauth.account.fields import PasswordField
from django import forms

from accounts.sign_in.passwords import require_bounded

if TYPE_CHECKING:
    Base = forms.Form
else:  # each of allauth's is a form already
    Base = object


class BoundedPasswordsMixin(Base):
    """Checks the length before a password is rated, hashed or compared."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            if isinstance(field, PasswordField):
                field.validators = [*field.validators, require_bounded]


class LoginForm(BoundedPasswordsMixin, allauth.LoginForm):
    pass


class ReauthenticateForm(BoundedPasswordsMixin, allauth.ReauthenticateForm):
    pass


class ChangePasswordForm(BoundedPasswordsMixin, allauth.ChangePasswordForm):
    pass


class SetPasswordForm(BoundedPasswordsMixin, allauth.SetPasswordForm):
    pass


class ResetPasswordKeyForm(BoundedPasswordsMixin, allauth.ResetPasswordKeyForm):
    pass
