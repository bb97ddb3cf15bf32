"""E-mail addresses that are typed in one spelling and arrive in another."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any
from unicodedata import normalize

import pytest
import time_machine
from allauth.account.models import EmailAddress, EmailConfirmationHMAC
from allauth.core.internal import ratelimit
from django.core.exceptions import ValidationError
from django.db import transaction
from django.test import Client, RequestFactory
from django.urls import reverse

from accounts.models import Invitation, Mail, Member, User
from accounts.oidc import tokens
from accounts.people import members
from accounts.sign_in import addresses
from accounts.sign_in.adapter import APP
from tests.accounts.security.people import add_address, confirm, make_person, signed_in
from tests.api.blocking import start_blocked
from tests.factories import PASSWORD, UserFactory
from tests.reauthentication import mark_reauthenticated

pytestmark = pytest.mark.django_db
READ = "anna@пример.рф"
SENT_BY_CHROME = "anna@xn--e1afmkfd.xn--p1ai"
PASTED = ["anna@example.com\u200b", "anna@exam\u00adple.com\ufeff", "anna@ｅxample.com"]
ANNA = "anna@example.com"


def sign_in(client: Client, address: str) -> bool:
    client.post(reverse("account_login"), {"login": address, "password": PASSWORD})
    return "_auth_user_id" in client.session


@pytest.mark.parametrize("typed", PASTED)
def test_words_pasted_around_an_address_are_dropped(client: Client, typed: str) -> None:
    form = {"email": typed, "company": "Demo", "country": "RU", "password1": PASSWORD}

    client.post(reverse("account_signup"), form)

    assert User.objects.get().email == ANNA


@pytest.mark.parametrize("typed", [*PASTED, ANNA])
def test_account_is_found_by_a_pasted_address(client: Client, typed: str) -> None:
    UserFactory.create(email=ANNA)

    assert sign_in(client, typed)


def test_domain_with_same_uppercase_form_is_different() -> None:
    """A person who registers it must not keep the other's people out."""
    theirs = "anna@g\u0131ft.example"
    add_address(UserFactory.create(email=theirs), theirs)
    was_claimed = addresses.is_claimed("anna@gift.example")
    UserFactory.create(email="anna@gift.example")

    assert not was_claimed
    assert list(User.objects.filter(addresses.is_of(theirs)).values_list("email", flat=True)) == [
        theirs
    ]


@pytest.mark.parametrize("stored", [READ, SENT_BY_CHROME])
@pytest.mark.parametrize("typed", [READ, SENT_BY_CHROME, READ.upper()])
def test_any_browser_finds_an_international_address(
    client: Client, stored: str, typed: str
) -> None:
    UserFactory.create(email=stored)
    form = {"email": typed, "company": "Demo", "country": "RU", "password1": PASSWORD}

    client.post(reverse("account_signup"), form)
    client.post(reverse("account_reset_password"), {"email": typed})

    assert User.objects.count() == 1
    assert Mail.objects.filter(template="account/email/password_reset_key", to=stored).exists()
    assert sign_in(client, typed)


@pytest.mark.parametrize("invited", [READ, SENT_BY_CHROME, READ + "\u200b"])
@pytest.mark.parametrize("email", [READ, SENT_BY_CHROME])
def test_invitation_is_of_the_mailbox(
    client: Client, owner: Member, invited: str, email: str
) -> None:
    client.post(reverse("member-invite"), {"email": invited, "role": "developer"})
    user = UserFactory.create(email=email)

    members.join(invitation=Invitation.objects.get(), user=user)

    assert owner.company.members.filter(user=user).exists()


@pytest.mark.parametrize("address", ["anna@при\u0301мер\u2028.рф", f"anna@{'я' * 300}.рф"])
def test_invalid_domain_is_refused(address: str) -> None:
    with pytest.raises(ValidationError):
        addresses.as_stored(address)


def test_address_too_long_to_store_is_refused(client: Client) -> None:
    """allauth would cut it, and give the account an address of nobody or of somebody else."""
    typed = f"{'a' * 60}@{'b.' * 96}com"
    form = {"company": "Demo", "country": "RU", "password1": PASSWORD}

    refused = client.post(reverse("account_signup"), form | {"email": typed})
    assert list(refused.context["form"].errors) == ["email"]
    assert tokens.email({"email": typed}) == ""
    client.post(reverse("account_signup"), form | {"email": typed[2:]})

    assert User.objects.get().email == typed[2:]


@pytest.mark.parametrize(
    "typed", ["\u017fim@example.com", "k\u0131m@example.com", "k\u0130m@a.com"]
)
def test_letters_that_are_ascii_in_another_case_are_refused(client: Client, typed: str) -> None:
    """Django's pattern takes them, and the database finds other accounts by them."""
    UserFactory.create(email=normalize("NFKC", typed).replace("\u0131", "i"))
    form = {"email": typed, "company": "Demo", "country": "RU", "password1": PASSWORD}

    client.post(reverse("account_signup"), form)
    client.post(reverse("account_reset_password"), {"email": typed})

    assert User.objects.count() == 1
    assert not Mail.objects.exists()
    assert not sign_in(client, typed)


def asked_to_confirm(user: User, address: str) -> tuple[EmailAddress, str]:
    row = EmailAddress.objects.create(user=user, email=address)
    key = EmailConfirmationHMAC.create(row).key
    return row, reverse("account_confirm_email", args=[key])


def test_page_that_confirms_an_address_names_its_account(client: Client) -> None:
    user = UserFactory.create(email="Boris@example.com")

    added, signed_up = (
        client.get(asked_to_confirm(user, address)[1]).content.decode()
        for address in (ANNA, "boris@example.com")
    )

    assert ANNA in added
    assert "Он станет адресом учётной записи Boris@example.com." in added
    assert "Он станет" not in signed_up


@pytest.mark.django_db(transaction=True)
def test_address_confirmed_twice_at_once_belongs_to_the_first(client: Client) -> None:
    """The unique key decides, as for any row that two pages write at once."""
    row, _url = asked_to_confirm(UserFactory.create(), ANNA)
    other, url = asked_to_confirm(UserFactory.create(), ANNA)

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            EmailAddress.objects.filter(pk=row.pk).update(verified=True)
            overtaken = start_blocked(pool, lambda: client.post(url))
        response = overtaken.result()

    assert response.status_code == 409
    assert "Кто-то сделал то же самое" in response.content.decode()
    other.refresh_from_db()
    assert not other.verified


def test_addresses_of_an_account_are_limited(settings: Any) -> None:
    """Each address gets an e-mail, and may be anybody's."""
    user = make_person()
    client = signed_in(user)
    confirm(client)

    for number in range(settings.ACCOUNT_MAX_EMAIL_ADDRESSES - 2):
        add_address(user, f"{number}@example.com")
    for name in "ab":
        client.post(reverse("account_email"), {"email": f"{name}@example.com", "action_add": ""})

    emails = EmailAddress.objects.filter(user=user).values_list("email", flat=True)
    assert {"a@example.com"} == {"a@example.com", "b@example.com"} & set(emails)


def test_emails_to_added_addresses_are_limited_per_day(client: Client) -> None:
    """Each added address gets an e-mail, and can be removed for another one."""
    person = make_person()
    client.force_login(person)
    with time_machine.travel(datetime.now(UTC), tick=False) as clock:
        for number in range(40):
            stranger = {"email": f"stranger{number}@example.com"}
            clock.shift(30)
            mark_reauthenticated(client, person)
            client.post(reverse("account_email"), stranger | {"action_add": ""})
            client.post(reverse("account_email"), stranger | {"action_remove": ""})

    assert 10 <= Mail.objects.filter(to__startswith="stranger").count() <= 20


def test_visitor_writes_to_few_strangers_a_day(client: Client, rf: RequestFactory) -> None:
    """An unknown address gets an e-mail too when somebody asks for its password."""
    with time_machine.travel(datetime.now(UTC), tick=False) as clock:
        for number in range(99):
            clock.shift(30)
            asked = rf.post("/")
            ratelimit.consume(asked, app=APP, action="reset_password", key=str(number))
        for name in "ab":
            clock.shift(30)
            client.post(reverse("account_reset_password"), {"email": f"{name}@example.com"})

    assert [mail.to for mail in Mail.objects.all()] == ["a@example.com"]


def test_stranger_s_address_gets_few_e_mails_a_day(client: Client, settings: Any) -> None:
    """Each sign-in to the account that waits for them sends another one."""
    settings.ACCOUNT_EMAIL_VERIFICATION = "mandatory"
    form = {"email": ANNA, "company": "Demo", "country": "RU", "password1": PASSWORD}
    client.post(reverse("account_signup"), form)
    with time_machine.travel(datetime.now(UTC), tick=False) as clock:
        for _ in range(12):
            clock.shift(200)
            sign_in(client, ANNA)

    assert Mail.objects.filter(to=ANNA).count() == 10
