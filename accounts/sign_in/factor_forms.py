"""allauth's forms for second factors: they refuse malformed passkeys and used codes, and
reauthentication has its own attempt limit.
"""

import struct
from base64 import urlsafe_b64encode
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from allauth.core import context as allauth
from allauth.core.internal.cryptokit import normalize_user_code
from allauth.mfa import app_settings
from allauth.mfa.adapter import get_adapter
from allauth.mfa.base import forms as codes
from allauth.mfa.models import Authenticator
from allauth.mfa.totp import forms as totp
from allauth.mfa.webauthn import forms as passkeys
from allauth.mfa.webauthn.internal import auth
from cryptography.exceptions import UnsupportedAlgorithm
from django import forms
from django.core.cache import cache
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext_lazy as _
from fido2.webauthn import AuthenticationResponse, CollectedClientData

from accounts.models import User
from parsing import clipboard
from parsing.form_fields import JsonField, LineField

# Raised by fido2 for credentials that no browser creates; allauth expects only some of these.
MALFORMED_ERRORS = (
    AttributeError,
    LookupError,
    NotImplementedError,
    RecursionError,
    TypeError,
    UnsupportedAlgorithm,
    ValueError,
    struct.error,
)

# Any visitor who enters an account's address makes us read and parse all of its passkeys.
MAX_PASSKEYS = 20
MAX_CREDENTIAL = 50_000  # characters; some 20,000 with certificates and keys of ML-DSA
MAX_NAME = 100
CHALLENGE_LIFETIME = 300  # seconds: longer than a request that has read one from the session takes
COUNTER = "sign_count"  # key in an authenticator's data: the counter of its last use
MAX_LIFETIME = app_settings.TOTP_PERIOD * (2 * app_settings.TOTP_TOLERANCE + 1)  # seconds of a code

if TYPE_CHECKING:
    Base = forms.Form
else:  # allauth's forms derive from it already
    Base = object


def _credential() -> JsonField:
    return JsonField(widget=forms.HiddenInput, max_text=MAX_CREDENTIAL)


class ProofMixin(Base):
    """Accepts a credential if it is well-formed, unused, and from a key that was not copied."""

    def clean_credential(self) -> Authenticator:
        try:
            response = auth.parse_authentication_response(self.cleaned_data["credential"])
            claimed: Authenticator = self._matching_authenticator()
            _require_our_origin(response.response.client_data)
        except MALFORMED_ERRORS as error:
            raise get_adapter().validation_error("incorrect_code") from error
        return _consume_challenge(claimed, response)

    def _matching_authenticator(self) -> Any:
        return super().clean_credential()  # type: ignore[misc]


def _require_our_origin(client_data: CollectedClientData) -> None:
    """Refuses proofs made on a subdomain: its pages may ask for our passkeys, and fido2 accepts
    them. https://www.w3.org/TR/webauthn-3/#sctn-validating-origin
    """
    if (
        urlsplit(client_data.origin).hostname
        != allauth.request.get_host().partition(":")[0].lower()
    ):
        raise ValueError(client_data.origin)


@transaction.atomic
def _consume_challenge(claimed: Authenticator, response: AuthenticationResponse) -> Authenticator:
    """Uses up the challenge, once: concurrent requests have all read it from the session.

    A signature counter must grow, or there is a copy of the key
    (https://www.w3.org/TR/webauthn-3/#sctn-sign-counter); keys without a counter send 0.
    """
    assertion = response.response
    challenge = urlsafe_b64encode(assertion.client_data.challenge).decode()
    rows = Authenticator.objects.select_for_update().filter(pk=claimed.pk)
    stored: Authenticator | None = rows.first()
    if stored is None or not cache.add(f"mfa.challenge?{challenge}", "y", CHALLENGE_LIFETIME):
        raise get_adapter().validation_error("incorrect_code")
    counter: int = stored.wrap().authenticator_data.counter  # type: ignore[no-untyped-call]
    last = stored.data.get(COUNTER, counter)
    now = assertion.authenticator_data.counter
    if (last or now) and now <= last:
        raise ValidationError(
            _(
                "This passkey may have been copied: its counter went backwards. Sign in another "
                "way, and replace it."
            )
        )
    stored.data[COUNTER] = now
    stored.save(update_fields=["data"])
    return stored


class LoginWebAuthnForm(ProofMixin, passkeys.LoginWebAuthnForm):
    credential = _credential()

    def clean_credential(self) -> Authenticator:
        """Refuses a passkey that was added as a second factor, even if it could be a first one.

        A first factor must have verified its holder by PIN or fingerprint. Its challenge requires
        that, but a second factor's challenge, which requires a touch, has the same session key.
        """
        response = self.cleaned_data["credential"]
        authenticator = super().clean_credential()
        proof = auth.parse_authentication_response(response).response.authenticator_data
        if not proof.is_user_verified():
            raise get_adapter().validation_error("incorrect_code")
        passkey = authenticator.wrap()  # type: ignore[no-untyped-call]
        if passkey.is_passwordless is False:  # None: added before this was stored
            raise ValidationError(
                _("This passkey is only the second step: sign in with the password first.")
            )
        return authenticator


class AuthenticateWebAuthnForm(ProofMixin, passkeys.AuthenticateWebAuthnForm):
    credential = _credential()


class AddWebAuthnForm(passkeys.AddWebAuthnForm):
    credential = _credential()

    def clean_name(self) -> str:
        """Truncates the name: after a refusal the passkey would have to be created again."""
        return str(super().clean_name())[:MAX_NAME]

    def clean(self) -> dict[str, Any]:
        passkeys_now = Authenticator.objects.filter(
            user=self.user, type=Authenticator.Type.WEBAUTHN
        ).count()
        if passkeys_now >= MAX_PASSKEYS:
            raise ValidationError(
                _("You can have up to %(n)d passkeys. Remove one first."),
                params={"n": MAX_PASSKEYS},
            )
        try:
            cleaned: dict[str, Any] = super().clean()
            if credential := cleaned.get("credential"):
                registration = auth.parse_registration_response(credential)
                _require_our_origin(registration.response.client_data)
                _set_passwordless(credential, bool(cleaned.get("passwordless")))
        except MALFORMED_ERRORS as error:
            raise get_adapter().validation_error("incorrect_code") from error
        return cleaned


class EditWebAuthnForm(passkeys.EditWebAuthnForm):
    name = LineField(max_length=MAX_NAME)


def _set_passwordless(credential: dict[str, Any], is_passwordless: bool) -> None:
    """Sets `credProps.rk`, which allauth reads, as the user chose: many authenticators report that
    every passkey can sign in alone, whatever was requested.
    """
    results = credential.setdefault("clientExtensionResults", {})
    results["credProps"] = {**(results.get("credProps") or {}), "rk": is_passwordless}


# allauth counts wrong codes of reauthentication and sign-in together, so a stolen session could
# lock its owner out. Here each session has few attempts (sessions.spend_attempt), and each user has
# a limit per minute ("reauthenticate").


class PastedCodeMixin(Base):
    """Accepts a pasted code with the extra characters that an app or a page puts into it."""

    def clean_code(self) -> str:
        self.cleaned_data["code"] = clipboard.code(self.cleaned_data["code"])
        code: str = super().clean_code()  # type: ignore[misc]
        return code


class UsedCodeMixin(Base):
    """Refuses a used code for as long as MFA_TOTP_TOLERANCE keeps it valid: allauth forgets it
    after one period. Of two concurrent uses, one succeeds.
    """

    user: User

    def clean_code(self) -> str:
        typed = normalize_user_code(self.cleaned_data["code"])
        cache_key = f"mfa.used?user={self.user.pk}&code={sha256(typed.encode()).hexdigest()}"
        if cache.get(cache_key):
            raise get_adapter().validation_error("incorrect_code")
        try:
            code: str = super().clean_code()  # type: ignore[misc]
        except Authenticator.DoesNotExist as removed:  # recovery codes, deleted in the meantime
            raise get_adapter().validation_error("incorrect_code") from removed
        cache.set(cache_key, "y", MAX_LIFETIME)
        return code


class ActivateTOTPForm(PastedCodeMixin, UsedCodeMixin, totp.ActivateTOTPForm):
    """The form that adds an authenticator app."""


class AuthenticateForm(PastedCodeMixin, UsedCodeMixin, codes.AuthenticateForm):
    """The form of the second step of a sign-in."""


class _ReauthenticateForm(codes.ReauthenticateForm):
    def clean_code(self) -> str:
        code: str = self.cleaned_data["code"]
        factors = Authenticator.objects.filter(user=self.user).exclude(
            type=Authenticator.Type.WEBAUTHN
        )
        for factor in factors:
            if factor.wrap().validate_code(code):
                factor.user = self.user
                self.authenticator = factor
                return code
        raise get_adapter().validation_error("incorrect_code")


class ReauthenticateForm(PastedCodeMixin, UsedCodeMixin, _ReauthenticateForm):
    """The form that confirms a change by a second factor."""


class ReauthenticateWebAuthnForm(ProofMixin, passkeys.ReauthenticateWebAuthnForm):
    credential = _credential()

    def _matching_authenticator(self) -> Authenticator:
        return auth.complete_authentication(self.user, self.cleaned_data["credential"])
