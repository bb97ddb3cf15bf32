"""Signing up, confirming an address, signing in and out, and resetting a password."""

import re
from functools import partial
from threading import Barrier

import pytest
from allauth.account.forms import default_token_generator
from allauth.account.models import EmailAddress
from allauth.account.utils import user_pk_to_url_str
from django.conf import settings
from django.core import mail
from django.core.mail import EmailMessage
from django.db.models.signals import pre_save
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from accounts.models import Company, Mail, Member, User
from accounts.outbox import mail as outbox
from tests.api.races import at_once
from tests.factories import PASSWORD, MemberFactory, UserFactory

pytestmark = pytest.mark.django_db

CLICKS = 3
SIGNUP_FORM = {
    "email": "new@example.com",
    "company": "Demo",
    "country": "RU",
    "password1": "a long new password",
}


def emails() -> list[EmailMessage]:
    """The e-mails that have arrived once the outbox is emptied."""
    outbox.deliver()
    return mail.outbox


@pytest.mark.parametrize("auto", [True, False])
def test_sign_up_creates_a_company_with_its_owner(
    client: Client, settings: Settings, auto: bool
) -> None:
    settings.AUTO_APPROVE_COMPANIES = auto

    response = client.post(
        reverse("account_signup"), SIGNUP_FORM, headers={"accept-language": "en"}
    )

    member = Member.objects.select_related("company", "user").get()
    assert response.status_code == 302
    assert (member.user.email, member.role) == ("new@example.com", Member.Role.OWNER)
    assert (member.company.name, member.company.country) == ("Demo", "RU")
    assert (member.company.status == Company.Status.APPROVED) is auto
    assert member.user.language == "en"


def test_emails_are_in_the_language_of_the_page(client: Client) -> None:
    client.post(reverse("account_signup"), SIGNUP_FORM, headers={"accept-language": "ru"})

    (email,) = emails()
    assert email.subject.startswith("Kvitok: ")
    assert str(email.body).startswith("Здравствуйте!")
    assert "example.com" not in str(email.body).replace(SIGNUP_FORM["email"], "")


def test_confirmation_link_confirms_the_address(client: Client) -> None:
    client.post(reverse("account_signup"), SIGNUP_FORM)
    match = re.search(rf"{settings.PUBLIC_URL}(/account/confirm-email/\S+)", str(emails()[0].body))
    assert match is not None

    page = client.get(match[1])
    client.post(match[1])

    address = User.objects.get().emailaddress_set.get()
    assert page.status_code == 200
    assert address.verified


def add_address(user: User, address: str, *, is_confirmed: bool) -> EmailAddress:
    """Adds a second address to an account."""
    EmailAddress.objects.get_or_create(user=user, email=user.email, primary=True, verified=True)
    return EmailAddress.objects.create(user=user, email=address, verified=is_confirmed)


def test_address_that_a_stranger_has_only_added_signs_up(
    client: Client, settings: Settings
) -> None:
    settings.ACCOUNT_EMAIL_VERIFICATION = "mandatory"
    added = add_address(MemberFactory.create().user, SIGNUP_FORM["email"], is_confirmed=False)

    client.post(reverse("account_signup"), SIGNUP_FORM)
    match = re.search(r"/account/confirm-email/\S+", str(emails()[0].body))
    assert match is not None
    client.post(match[0])

    owner = User.objects.get(email=SIGNUP_FORM["email"])
    assert owner.emailaddress_set.get().verified
    assert not added.can_set_verified()


def test_confirmed_address_creates_no_second_account(client: Client, settings: Settings) -> None:
    settings.ACCOUNT_EMAIL_VERIFICATION = "mandatory"
    add_address(MemberFactory.create().user, SIGNUP_FORM["email"], is_confirmed=True)

    client.post(reverse("account_signup"), SIGNUP_FORM)

    assert not User.objects.filter(email=SIGNUP_FORM["email"]).exists()


def test_log_in_remembers_the_language(client: Client) -> None:
    member = MemberFactory.create(user__language="en")

    response = client.post(
        reverse("account_login"), {"login": member.user.email, "password": PASSWORD}
    )

    assert response.headers["Location"] == reverse("overview")
    assert client.cookies["django_language"].value == "en"


def test_log_out_needs_a_post(client: Client) -> None:
    client.force_login(MemberFactory.create().user)

    client.get(reverse("account_logout"))
    still_in = "_auth_user_id" in client.session
    client.post(reverse("account_logout"))

    assert still_in
    assert "_auth_user_id" not in client.session


def test_password_is_reset_by_email(client: Client) -> None:
    user = UserFactory.create()
    client.post(reverse("account_reset_password"), {"email": user.email})
    match = re.search(
        rf"{settings.PUBLIC_URL}(/account/password/reset/key/\S+)", str(emails()[0].body)
    )
    assert match is not None

    page = client.get(match[1], follow=True)
    client.post(
        page.request["PATH_INFO"],
        {"password1": "another long one", "password2": "another long one"},
    )

    user.refresh_from_db()
    assert user.check_password("another long one")


@pytest.mark.django_db(transaction=True)
def test_reset_link_sent_twice_at_once_counts_once() -> None:
    user = UserFactory.create()
    key = {"uidb36": user_pk_to_url_str(user), "key": default_token_generator.make_token(user)}
    start = reverse("account_reset_password_from_key", kwargs=key)
    clients = [Client(), Client()]
    forms = [client.get(start, follow=True) for client in clients]
    path = forms[0].request["PATH_INFO"]
    chosen = ["the first long one", "the second long one"]

    responses = at_once(
        [
            partial(client.post, path, {"password1": new, "password2": new})
            for client, new in zip(clients, chosen, strict=True)
        ]
    )

    user.refresh_from_db()
    is_set = [user.check_password(new) for new in chosen]
    assert sorted(response.status_code for response in responses) == [200, 302]
    assert is_set == [response.status_code == 302 for response in responses]


def test_language_is_stored_for_the_person(client: Client) -> None:
    user = UserFactory.create(language="ru")
    client.force_login(user)

    response = client.post(reverse("language"), {"language": "en", "next": "/"})

    user.refresh_from_db()
    assert (response.status_code, user.language) == (302, "en")
    assert client.cookies["django_language"].value == "en"


@pytest.mark.django_db(transaction=True)
def test_parallel_sign_ups_create_one_account_without_errors(settings: Settings) -> None:
    settings.ACCOUNT_EMAIL_VERIFICATION = "mandatory"
    judged = Barrier(CLICKS)

    def wait(**_rest: object) -> None:
        judged.wait(30)  # until each form was found valid, and none is saved

    pre_save.connect(wait, sender=User)
    try:
        responses = at_once([click] * CLICKS)
    finally:
        pre_save.disconnect(wait, sender=User)

    assert responses == [(302, reverse("account_email_verification_sent"))] * CLICKS
    assert (User.objects.count(), Company.objects.count()) == (1, 1)
    assert Mail.objects.get().template == "account/email/email_confirmation_signup"


def click() -> tuple[int, str]:
    response = Client(raise_request_exception=False).post(reverse("account_signup"), SIGNUP_FORM)
    return response.status_code, response.headers.get("Location", "")
