"""Sessions for page tests: a visitor, a member, a user with every second factor, a half sign-in."""

from collections.abc import Iterator

from allauth.account.forms import default_token_generator
from allauth.account.models import EmailAddress, EmailConfirmationHMAC
from allauth.account.utils import user_pk_to_url_str
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.conf import settings
from django.test import Client
from django.urls import reverse

from accounts.models import Company, Invitation, Member, User
from accounts.outbox.mail import NoticeKind, unsubscribe_link
from accounts.people import members
from billing.models import Order
from billing.signed_links import INVOICES
from tests.browser.urls import ERRORS
from tests.cabinet.routes import CABINET, GUARDED, HALFWAY, NOBODY, PERSON, VISITOR, Kind, address
from tests.factories import PASSWORD, MemberFactory
from tests.operator_admin.operators import SECRET, code_now

ONLY_POST = {"company-switch"}
WITHOUT_COMPANY = {"company-create"}


# As Chromium's virtual authenticator made it; its private half was thrown away.
CREDENTIAL = {
    "id": "phDzZ7Caa4jCMloKKak5s5kMq7943uvEPIS55vhCnoA",
    "rawId": "phDzZ7Caa4jCMloKKak5s5kMq7943uvEPIS55vhCnoA",
    "type": "public-key",
    "response": {
        "clientDataJSON": (
            "eyJ0eXBlIjoid2ViYXV0aG4uY3JlYXRlIiwiY2hhbGxlbmdlIjoibEdmUS13Rlpua3ZmdGpCV0d6UVFn"
            "MmFkN2otellBWUwxZUtNR3hZSHNRcyIsIm9yaWdpbiI6Imh0dHA6Ly9sb2NhbGhvc3Q6MzYyNTUiLCJj"
            "cm9zc09yaWdpbiI6ZmFsc2V9"
        ),
        "attestationObject": (
            "o2NmbXRkbm9uZWdhdHRTdG10oGhhdXRoRGF0YVikSZYN5YgOjGh0NBcPZHZgW4_krrmihjLHmVzzuoMdl2NF"
            "AAAAAQECAwQFBgcIAQIDBAUGBwgAIKYQ82ewmmuIwjJaCimpObOZDKu_eN7rxDyEueb4Qp6ApQECAyYgASFY"
            "IC8Zt67WtRB1yfwGXWtebPQXnz9NxhBNWhwT5n9Tg8PTIlggxZcaNXpxZ8EwzWNSZODTfNk_M8fKNS9gPn3D"
            "p_5Ymq0"
        ),
    },
    "clientExtensionResults": {"credProps": {"rk": True}},
}


def owner_of(company: Company) -> User:
    user = MemberFactory.create(company=company, role=Member.Role.OWNER).user
    EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
    return user


def session_cookie(user: User) -> str:
    """Signs in by the form and reauthenticates by the password, so that no page asks again."""
    client = Client()
    client.post(reverse("account_login"), {"login": user.email, "password": PASSWORD})
    client.post(reverse("account_reauthenticate"), {"password": PASSWORD})
    return client.cookies[settings.SESSION_COOKIE_NAME].value


def add_second_factors(user: User) -> Authenticator:
    """Adds an authenticator app, recovery codes and a passkey."""
    TOTP.activate(user, SECRET)
    RecoveryCodes.activate(user)
    passkey: Authenticator = Authenticator.objects.create(
        user=user, type=Authenticator.Type.WEBAUTHN, data={"name": "№ 1", "credential": CREDENTIAL}
    )
    return passkey


def all_pages(company: Company) -> Iterator[tuple[str, str]]:
    """Returns every page as (cookie of the session or nothing, path)."""
    member = owner_of(company)
    cookie = session_cookie(member)
    for name, route in CABINET.items():
        if route.kind is Kind.PAGE and route.read != NOBODY:
            yield cookie, address(name, company)
    for name in sorted(PERSON - ONLY_POST - WITHOUT_COMPANY):
        yield cookie, reverse(name)
    for error in ERRORS:
        yield cookie, f"/cabinet/broken/{error}"
    yield from _pages_outside_cabinet(company, member)


def _pages_outside_cabinet(company: Company, member: User) -> Iterator[tuple[str, str]]:
    yield session_cookie(_user_without_company()), reverse("company-create")
    guarded = owner_of(company)
    cookie = session_cookie(guarded)
    key = add_second_factors(guarded)
    cookie = _reauthenticated(cookie)
    for name in sorted(GUARDED):
        has_key = name in {"mfa_remove_webauthn", "mfa_edit_webauthn"}
        yield cookie, reverse(name, args=[key.pk] if has_key else [])
    yield cookie, reverse("mfa_list_webauthn")
    yield cookie, reverse("mfa_index")
    halfway = owner_of(company)
    TOTP.activate(halfway, generate_totp_secret())
    for name in HALFWAY:
        yield session_cookie(halfway), reverse(name)
    for name in sorted(VISITOR):
        yield "", reverse(name, kwargs=_url_arguments(name, member))
    yield "", "/no-such-link"
    yield "", f"/{company.links.filter(disabled_at__isnull=False)[0].slug}"
    yield "", f"/{company.links.get(is_once=True).slug}"
    yield "", f"/{company.links.get(clicks=3).slug}+"


def _reauthenticated(cookie: str) -> str:
    """Enters a code of the app again; returns the cookie."""
    client = Client()
    client.cookies[settings.SESSION_COOKIE_NAME] = cookie
    client.post(reverse("mfa_reauthenticate"), {"code": code_now()})
    return client.cookies[settings.SESSION_COOKIE_NAME].value


def _user_without_company() -> User:
    member = MemberFactory.create()
    member.delete()
    return member.user


def _url_arguments(name: str, user: User) -> dict[str, str]:
    """The arguments in the link of an e-mail or an invoice."""
    orders = Order.objects.filter(company__members__user=user)
    if name == "sandbox-gateway":
        return {"payment_id": orders.get(gateway="sandbox", state="pending").payment_id}
    if name == "invoice":
        return {"token": INVOICES.token(orders.invoices().get().pk)}
    if name in {"invitation-join", "notice-unsubscribe"}:
        return {"token": _mailed_token(name, user)}
    if name == "account_confirm_email":
        return {"key": EmailConfirmationHMAC(user.emailaddress_set.get()).key}
    if name == "account_reset_password_from_key":
        return {"uidb36": user_pk_to_url_str(user), "key": default_token_generator.make_token(user)}
    return {}


def _mailed_token(name: str, user: User) -> str:
    if name == "invitation-join":
        return members.token(Invitation.objects.open()[0])
    return unsubscribe_link(user, NoticeKind.BALANCE).rpartition("/")[2]
