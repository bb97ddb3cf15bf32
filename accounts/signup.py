"""The sign-up that says nothing of who has an account, by its work as little as by its words."""

from typing import Any
from uuid import uuid4

from allauth.account.forms import SignupForm
from django.db import transaction
from django.http import HttpRequest


class QuietSignupForm(SignupForm):
    """Does for a known address what it does for a new one, and undoes it."""

    def try_save(self, request: HttpRequest) -> Any:
        with transaction.atomic():  # a user without the company would be asked for it again
            if not self.account_already_exists:
                return super().try_save(request)
            self._rehearse(request)
            transaction.set_rollback(True)
        return super().try_save(request)

    def _rehearse(self, request: HttpRequest) -> None:
        email = self.cleaned_data["email"]
        self.account_already_exists = False
        self.cleaned_data["email"] = f"{uuid4()}@nobody.invalid"  # RFC 2606: never anybody's
        self.save(request)
        self.account_already_exists = True
        self.cleaned_data["email"] = email
