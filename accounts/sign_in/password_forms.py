"""allauth's password forms with a maximum length, and one line on a new password."""

from typing import TYPE_CHECKING, Any

from allauth.account import forms as allauth
from allauth.account.fields import PasswordField
from django import forms
from django.utils.translation import gettext_lazy as _

from accounts.sign_in.passwords import require_bounded

# Instead of a sentence from each validator; what is wrong with a password its error says.
NEW_PASSWORD = _("12 characters or more; four random words are best.")

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
        if "password1" in self.fields:  # allauth's name of one that is being chosen
            self.fields["password1"].help_text = NEW_PASSWORD


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
