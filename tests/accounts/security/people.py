"""Users with an address, a password and further sign-in methods."""

from collections.abc import Mapping

from allauth.account.models import EmailAddress
from allauth.mfa.totp.internal.auth import TOTP
from django.test import Client
from django.urls import reverse

from accounts.models import Mail, User
from tests.factories import PASSWORD, MemberFactory
from tests.operator_admin.operators import SECRET, code_now

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


def make_person(email: str = "anna@example.com", **fields: object) -> User:
    """An owner whose address is confirmed."""
    user = MemberFactory.create(user__email=email, **fields).user
    add_address(user, email, primary=True)
    return user


def add_address(user: User, email: str, *, primary: bool = False, verified: bool = True) -> None:
    EmailAddress.objects.create(user=user, email=email, primary=primary, verified=verified)


def add_app(user: User) -> None:
    TOTP.activate(user, SECRET)


def signed_in(user: User, password: str = PASSWORD) -> Client:
    """A client signed in through the form."""
    client = Client(headers={"user-agent": FIREFOX})
    client.post(reverse("account_login"), {"login": user.email, "password": password})
    return client


def confirm(client: Client, password: str = PASSWORD, then: str = "") -> str:
    """Reauthenticates with the password; returns the URL that it leads to."""
    response = client.post(reverse("account_reauthenticate"), {"password": password, "next": then})
    return response.headers.get("Location", "")


def confirm_by_code(client: Client) -> str:
    response = client.post(reverse("mfa_reauthenticate"), {"code": code_now()})
    return response.headers.get("Location", "")


def is_asked(client: Client, name: str, data: Mapping[str, object] | None = None) -> bool:
    """Whether the page, or with data its form, requires reauthentication first."""
    path = reverse(name)
    response = client.get(path) if data is None else client.post(path, data)
    return "reauthenticate" in response.headers.get("Location", "")


def emails_to(email: str) -> list[str]:
    """The subjects of the e-mails to an address, oldest first."""
    emails = Mail.objects.filter(to=email).order_by("created_at")
    return [mail.subject.removeprefix("Kvitok: ") for mail in emails]
