"""The admin opens for operators with a second factor only, at every address."""

import re
from typing import Any

import pytest
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from django.contrib import admin
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import NoReverseMatch, URLPattern, URLResolver, reverse
from pytest_django import DjangoAssertNumQueries, Settings

from accounts.models import AuditEvent, User
from billing.models import Payment
from tests.config.starting import start
from tests.factories import MemberFactory, MessageFactory, OrderFactory, UserFactory
from tests.operator_admin.operators import code_now, make_operator, sign_in

pytestmark = pytest.mark.django_db
OPEN_TO_ALL = {"login", "logout", "password_change_done"}  # the first two lead elsewhere


@pytest.fixture(autouse=True)
def second_factor(settings: Settings) -> None:
    settings.OPERATOR_MFA = True


def addresses() -> list[str]:
    """Returns every address of the admin, with values for its arguments."""
    result = []
    for pattern in _flat(admin.site.get_urls()):
        for kwargs in ({}, {"object_id": "1"}, {"name": "twilio"}, {"status": "approved"}):
            try:
                result.append(reverse(f"admin:{pattern.name}", kwargs=kwargs))
            except NoReverseMatch:
                continue
            break
    return sorted(set(result))


def _flat(patterns: list[Any]) -> list[URLPattern]:
    flat: list[URLPattern] = []
    for pattern in patterns:
        flat += _flat(pattern.url_patterns) if isinstance(pattern, URLResolver) else [pattern]
    return [pattern for pattern in flat if pattern.name and pattern.name not in OPEN_TO_ALL]


def reached(client: Client, address: str) -> list[str]:
    return [url for url, _status in client.get(address, follow=True).redirect_chain]


def test_there_are_many_addresses() -> None:
    assert len(addresses()) > 60
    assert {reverse(f"admin:{name}") for name in ("index", "queue", "providers", "system")} <= set(
        addresses()
    )


def test_session_without_factor_is_led_to_setup_everywhere(client: Client) -> None:
    sign_in(client, make_operator(has_factor=False), "password")

    opened = [
        address
        for address in addresses()
        if reverse("mfa_activate_totp") not in reached(client, address)
    ]

    assert opened == []


def test_password_session_needs_second_factor_everywhere(client: Client) -> None:
    sign_in(client, make_operator(), "password")
    wanted = reverse("mfa_reauthenticate")

    opened = [
        address
        for address in addresses()
        if not any(url.startswith(wanted) for url in reached(client, address))
    ]

    assert opened == []


def test_posts_without_a_second_factor_are_refused(client: Client) -> None:
    sign_in(client, make_operator(), "password")

    statuses = {client.post(address).status_code for address in addresses()}

    assert statuses == {302}
    assert AuditEvent.objects.count() == 0


def test_visitor_is_sent_to_sign_in_everywhere(client: Client) -> None:
    for address in addresses():
        for response in (client.get(address), client.post(address)):
            assert response.status_code == 302, address
            assert "/login/" in response.headers["Location"], address


def test_member_who_is_not_an_operator_is_refused(client: Client) -> None:
    sign_in(client, MemberFactory.create().user, "password", "mfa")

    response = client.get(reverse("admin:index"), follow=True)

    assert response.status_code == 403
    assert "для операторов сервиса" in response.content.decode()


def test_session_of_a_removed_second_factor_is_refused(client: Client) -> None:
    user = make_operator()
    sign_in(client, user, "password", "mfa")
    assert client.get(reverse("admin:index")).status_code == 200

    user.authenticator_set.all().delete()

    assert client.get(reverse("admin:index")).status_code == 302


def test_second_factor_code_opens_requested_page(client: Client) -> None:
    sign_in(client, make_operator(), "password")
    asked = client.get(reverse("admin:queue"), follow=True)
    page, _status = asked.redirect_chain[-1]

    response = client.post(page, {"code": code_now()})

    assert response.headers["Location"] == reverse("admin:queue")
    assert client.get(reverse("admin:queue")).status_code == 200


@pytest.mark.parametrize(
    "then", ["https://evil.example/", "//evil.example/", "javascript:alert(1)"]
)
def test_sign_in_redirects_to_no_foreign_host(client: Client, then: str) -> None:
    sign_in(client, make_operator(), "password", "mfa")

    response = client.get(reverse("admin:login"), {"next": then})

    assert response.headers["Location"] == reverse("admin:index")


def test_operators_page_of_second_factors_shows_no_secret(client: Client) -> None:
    user = make_operator()
    sign_in(client, user, "password", "mfa")
    factor = user.authenticator_set.get()

    page = client.get(reverse("admin:mfa_authenticator_change", args=[factor.pk])).content.decode()

    assert user.email in page
    assert factor.data["secret"] not in page


def test_lost_second_factor_is_reset_on_the_record(client: Client) -> None:
    user = make_operator()
    locked_out = make_operator()
    sign_in(client, user, "password", "mfa")
    factor = locked_out.authenticator_set.get()
    RecoveryCodes.activate(locked_out)  # lost with it, or in somebody else's hands

    client.post(reverse("admin:mfa_authenticator_delete", args=[factor.pk]), {"post": "yes"})

    assert not locked_out.authenticator_set.exists()
    event = AuditEvent.objects.get()
    assert (event.action, event.user) == ("factor.reset", user)
    assert event.subject.startswith(locked_out.email)


def test_second_factor_of_operators_cannot_be_off_in_production() -> None:
    refused = start(
        OPERATOR_MFA="0",
        ENVIRONMENT="production",
        PUBLIC_URL="https://x.example",
        WEBHOOK_KEYS=f"1:{'x' * 32}",
    )

    assert "OPERATOR_MFA cannot be off in production" in refused.stderr


@pytest.mark.parametrize("name", ["index", "queue", "providers"])
def test_page_query_count_is_constant(
    client: Client, name: str, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    sign_in(client, make_operator(), "password", "mfa")
    MessageFactory.create()
    with django_assert_max_num_queries(30) as few:
        client.get(reverse(f"admin:{name}"))
    MessageFactory.create_batch(5)

    with django_assert_max_num_queries(len(few)):
        client.get(reverse(f"admin:{name}"))


def test_today_counts_unpaid_invoices_and_payments_to_look_at(client: Client) -> None:
    sign_in(client, make_operator(), "password", "mfa")
    OrderFactory.create(gateway="invoice", invoice_year=2026, invoice_number=1)
    OrderFactory.create()  # waits for a card, of which no operator knows anything
    Payment.objects.create(
        gateway="sandbox", payment_id="1", amount=1, currency="RUB", problem="wrong_amount"
    )

    page = client.get(reverse("admin:index"))

    assert page.context["today"].unpaid == 1
    assert f"{reverse('admin:billing_payment_changelist')}?attention=yes" in page.content.decode()


def helper_with(*permissions: str) -> User:
    """An operator who is no administrator."""
    user = make_operator()
    User.objects.filter(pk=user.pk).update(is_superuser=False)
    codenames = [permission.partition(".")[2] for permission in permissions]
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    return User.objects.get(pk=user.pk)


def test_administrators_factor_is_reset_only_by_administrators(client: Client) -> None:
    administrator = make_operator()
    helper = helper_with("mfa.view_authenticator", "mfa.delete_authenticator")
    sign_in(client, helper, "password", "mfa")
    factor = administrator.authenticator_set.get()
    own = helper.authenticator_set.get()
    delete = "admin:mfa_authenticator_delete"

    refused = client.post(reverse(delete, args=[factor.pk]), {"post": "yes"})
    allowed = client.post(reverse(delete, args=[own.pk]), {"post": "yes"})

    assert (refused.status_code, allowed.status_code) == (403, 302)
    assert administrator.authenticator_set.exists()


def test_helper_cannot_make_administrators(client: Client) -> None:
    helper = helper_with("accounts.view_user", "accounts.change_user")
    person = UserFactory.create()
    administrator = make_operator()
    sign_in(client, helper, "password", "mfa")
    change = "admin:accounts_user_change"
    fields = {"email": person.email, "name": "Anna", "language": "ru", "is_active": "on"}

    changed = client.post(
        reverse(change, args=[person.pk]), fields | {"is_staff": "on", "is_superuser": "on"}
    )
    refused = client.post(reverse(change, args=[administrator.pk]), fields)

    person.refresh_from_db()
    assert (changed.status_code, refused.status_code) == (302, 403)
    assert (person.name, person.is_staff, person.is_superuser) == ("Anna", False, False)


def test_menu_marks_the_page_that_is_open(client: Client) -> None:
    sign_in(client, make_operator(), "password", "mfa")
    entries = _menu(client, reverse("admin:index"))

    assert len(entries) >= 10
    for url in entries:
        assert [other for other, is_open in _menu(client, url).items() if is_open] == [url]


def test_menu_marks_the_list_of_an_open_row(client: Client) -> None:
    sign_in(client, make_operator(), "password", "mfa")
    company = MemberFactory.create().company

    entries = _menu(client, reverse("admin:accounts_company_change", args=[company.pk]))

    assert entries[reverse("admin:accounts_company_changelist")]


def _menu(client: Client, url: str) -> dict[str, bool]:
    """Returns, by address, whether the entry is marked."""
    page = client.get(url).content.decode()
    menu = page.split('class="admin-menu"', 1)[1].split("</nav>", 1)[0]
    links = re.findall(r'<a href="([^"]+)"( aria-current="page")?>', menu)
    return {address: bool(mark) for address, mark in links}


def test_staff_without_permissions_opens_only_the_first_page(
    client: Client, settings: Settings
) -> None:
    settings.OPERATOR_MFA = False
    client.force_login(UserFactory.create(is_staff=True))
    harmless = {reverse(f"admin:{name}") for name in ("index", "attention", "jsi18n")}

    opened = [address for address in addresses() if client.get(address).status_code == 200]

    assert set(opened) <= harmless
    menu = client.get(reverse("admin:index")).content.decode()
    assert f'<a href="{reverse("admin:providers")}">' not in menu


@pytest.mark.parametrize(
    ("permission", "name"),
    [
        ("view_provideraccount", "providers"),
        ("change_provideraccount", "incidents"),
        ("view_incident", "incidents"),
        ("view_alert", "alerts"),
        ("view_alert", "system"),
        ("view_message", "queue"),
    ],
)
def test_page_requires_permission_for_its_content(
    client: Client, settings: Settings, permission: str, name: str
) -> None:
    settings.OPERATOR_MFA = False
    reader = UserFactory.create(is_staff=True)
    reader.user_permissions.add(Permission.objects.get(codename=permission))
    client.force_login(reader)

    page = client.get(reverse(f"admin:{name}"))

    assert page.status_code == 200
    assert f'href="{reverse(f"admin:{name}")}"' in page.content.decode()
