"""Reasons for refusing a sign-in through the provider, and the texts that the person reads."""

from enum import Enum
from http import HTTPStatus

from django.utils.translation import gettext_lazy as _

from catalogue.texts import StrOrPromise


class Reason(Enum):
    EXPIRED = "expired"
    CANCELED = "canceled"
    UNAVAILABLE = "unavailable"
    INVALID = "invalid"
    GROUPS_ELSEWHERE = "groups_elsewhere"
    NO_ACCOUNT = "no_account"
    ADDRESS_TAKEN = "address_taken"
    ADDRESS_UNVERIFIED = "address_unverified"
    LINKED_ELSEWHERE = "linked_elsewhere"
    LINKED_ALREADY = "linked_already"
    OTHER_IDENTITY = "other_identity"
    NOT_FRESH = "not_fresh"


class RefusedError(Exception):
    """A refused sign-in. `detail` is for the log: it never has a token, a code or an address."""

    def __init__(self, reason: Reason, detail: str = "") -> None:
        super().__init__(f"{reason.value}: {detail}" if detail else reason.value)
        self.reason = reason
        self.detail = detail


STATUSES = {
    Reason.EXPIRED: HTTPStatus.BAD_REQUEST,
    Reason.UNAVAILABLE: HTTPStatus.SERVICE_UNAVAILABLE,
    Reason.LINKED_ELSEWHERE: HTTPStatus.CONFLICT,
    Reason.LINKED_ALREADY: HTTPStatus.CONFLICT,
}
DEFAULT_STATUS = HTTPStatus.FORBIDDEN

TEXTS: dict[Reason, tuple[StrOrPromise, StrOrPromise]] = {
    Reason.EXPIRED: (
        _("This sign-in has expired"),
        _(
            "It took too long, was already finished, or was started in another browser. Start "
            "again."
        ),
    ),
    Reason.CANCELED: (
        _("The sign-in was cancelled"),
        _("%(provider)s did not let you through, or you changed your mind there."),
    ),
    Reason.UNAVAILABLE: (
        _("%(provider)s does not answer"),
        _("Try again in a minute, or sign in with your password."),
    ),
    Reason.INVALID: (
        _("The response from %(provider)s could not be verified"),
        _("Nobody was signed in. If this repeats, tell the operator of this service."),
    ),
    Reason.GROUPS_ELSEWHERE: (
        _("%(provider)s did not send your groups"),
        _(
            "You are in too many groups to list. Ask your administrator to send only the groups of "
            "this service."
        ),
    ),
    Reason.NO_ACCOUNT: (
        _("You have no access yet"),
        _(
            "%(provider)s signed you in, but none of your groups gives access to this service. Ask "
            "your administrator."
        ),
    ),
    Reason.ADDRESS_TAKEN: (
        _("An account with your address already exists"),
        _("Sign in with its password, then connect %(provider)s under “Single sign-on”."),
    ),
    Reason.ADDRESS_UNVERIFIED: (
        _("Your address is not confirmed"),
        _("Confirm your e-mail address at %(provider)s, then sign in again."),
    ),
    Reason.LINKED_ELSEWHERE: (
        _("This %(provider)s account belongs to somebody else here"),
        _(
            "Your %(provider)s account is connected to another account here. Disconnect it there "
            "first."
        ),
    ),
    Reason.LINKED_ALREADY: (
        _("Your account is connected already"),
        _("Only one %(provider)s account can be connected to it. Disconnect that one first."),
    ),
    Reason.OTHER_IDENTITY: (
        _("That was somebody else"),
        _(
            "You signed in to %(provider)s as somebody other than the person this session belongs "
            "to."
        ),
    ),
    Reason.NOT_FRESH: (
        _("%(provider)s did not ask you again"),
        _("To confirm that it is you, sign in there again. Or set a password here by e-mail."),
    ),
}
