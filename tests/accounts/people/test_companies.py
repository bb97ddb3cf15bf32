"""Companies: signing up, API keys, suspension and country."""

from datetime import timedelta
from typing import Any

import pytest
from allauth.core.internal.ratelimit import parse_rates
from django.core.exceptions import ValidationError
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoCaptureOnCommitCallbacks, Settings

from accounts import key_issuing
from accounts.keys import api_keys, key_format
from accounts.models import ApiKey, Company, Member, Scope, User
from accounts.people import companies, countries
from config.environment.library_settings import RATE_LIMITS
from tests.factories import ApiKeyFactory, CompanyFactory, MemberFactory, UserFactory

pytestmark = pytest.mark.django_db


def actions(company: Company) -> list[str]:
    return list(company.audit.order_by("id").values_list("action", flat=True))


@pytest.mark.parametrize(
    ("auto", "status"), [(True, Company.Status.APPROVED), (False, Company.Status.PENDING)]
)
def test_sign_up_company_makes_an_owner(settings: Settings, auto: bool, status: str) -> None:
    settings.AUTO_APPROVE_COMPANIES = auto
    user = UserFactory.create()

    company = companies.sign_up_company(user=user, name="Demo", language="en")

    assert (company.status, company.language, company.country) == (status, "en", "RU")
    assert [member.role for member in user.memberships.all()] == [Member.Role.OWNER]
    assert actions(company) == ["company.created"]


def test_create_api_key_keeps_no_plaintext() -> None:
    company = CompanyFactory.create()

    key, plaintext = key_issuing.create_api_key(
        company=company,
        user=MemberFactory.create(company=company).user,
        mode="test",
        name="Site",
        scopes=[Scope.OTP],
    )

    assert key_format.is_well_formed(plaintext)
    assert plaintext.startswith("kv_test_")
    assert (key.prefix, key.last4) == (plaintext[:12], plaintext[-4:])
    assert (bytes(key.digest), key.scopes) == (key_format.digest(plaintext), ["otp"])
    assert actions(company) == ["key.created"]


def test_expired_and_revoked_keys_do_not_count_towards_the_limit() -> None:
    company = CompanyFactory.create()
    past = timezone.now() - timedelta(minutes=1)
    ApiKeyFactory.create_batch(3, company=company, revoked_at=past)
    ApiKeyFactory.create_batch(3, company=company, expires_at=past)

    user = MemberFactory.create(company=company).user
    key_issuing.create_api_key(company=company, user=user, mode="live", name="New")

    assert company.api_keys.active().count() == 1


def _creator(key: ApiKey) -> User:
    return MemberFactory.create(company=key.company).user


def test_revoke_of_a_revoked_key_changes_nothing() -> None:
    revoked_at = timezone.now() - timedelta(days=1)
    key = ApiKeyFactory.create(revoked_at=revoked_at)

    key_issuing.revoke_api_key(key=key, user=UserFactory.create())

    key.refresh_from_db()
    assert key.revoked_at == revoked_at
    assert actions(key.company) == []


def test_rotated_key_works_for_another_day() -> None:
    key = ApiKeyFactory.create(scopes=["links"], allowed_ips=["203.0.113.7"])

    successor, plaintext = key_issuing.rotate_api_key(key=key, user=_creator(key))

    key.refresh_from_db()
    assert key.is_active
    assert key.expires_at is not None
    assert timedelta(hours=23) < key.expires_at - timezone.now() <= timedelta(hours=24)
    assert successor.name == key.name
    assert successor.mode == key.mode
    assert successor.scopes == ["links"]
    assert successor.allowed_ips == ["203.0.113.7"]
    assert key_format.digest(plaintext) == bytes(successor.digest)


def test_rotate_works_at_the_key_limit() -> None:
    company = CompanyFactory.create()
    key, *_ = ApiKeyFactory.create_batch(5, company=company)

    key_issuing.rotate_api_key(key=key, user=_creator(key))

    assert company.api_keys.active().count() == 6


def test_rotate_refuses_an_expiring_key() -> None:
    key = ApiKeyFactory.create(expires_at=timezone.now() + timedelta(hours=2))

    with pytest.raises(ValidationError) as refusal:
        key_issuing.rotate_api_key(key=key, user=_creator(key))

    assert refusal.value.code == "ending"
    assert ApiKey.objects.count() == 1


def test_settings_change_is_recorded() -> None:
    company = CompanyFactory.create()

    companies.change_settings(
        company=company,
        user=UserFactory.create(),
        changes={"default_channel": "sms", "code_length": company.code_length},
    )

    company.refresh_from_db()
    assert company.default_channel == "sms"
    assert [event.subject for event in company.audit.all()] == ["default_channel"]


def test_suspension_applies_to_cached_keys_at_once(
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    key = ApiKeyFactory.create()
    api_keys.find(key.plaintext)

    with django_capture_on_commit_callbacks(execute=True):
        companies.change_status(
            company=key.company, status=Company.Status.SUSPENDED, user=MemberFactory.create().user
        )

    result = api_keys.find(key.plaintext)
    assert result is not None
    assert result.company_status == "suspended"
    assert actions(key.company) == ["company.suspended"]


SIGNUP_FORM = {"email": "new@example.com", "company": "Demo", "password1": "a long new password"}


@pytest.mark.parametrize(
    ("spoken", "guessed"),
    [
        ("ru-RU,ru;q=0.9,en-US;q=0.8", "RU"),
        ("ru", "RU"),
        ("ru-KZ", "KZ"),
        ("kk,ru;q=0.5", "KZ"),
        ("en-US,en;q=0.9,ru;q=0.8", "RU"),
        ("en-GB,en;q=0.9", "GB"),
        ("en", ""),
        ("zz-ZZ", ""),
        ("", ""),
        ("*", ""),
    ],
)
def test_country_is_guessed_by_the_languages_of_the_browser(
    rf: RequestFactory, spoken: str, guessed: str
) -> None:
    assert countries.guess(rf.get("/", headers={"accept-language": spoken})) == guessed


@pytest.mark.parametrize(("header", "guessed"), [("kz", "KZ"), ("XX", "RU"), ("", "RU")])
def test_country_header_of_the_proxy_takes_precedence(
    rf: RequestFactory, settings: Settings, header: str, guessed: str
) -> None:
    settings.COUNTRY_HEADER = "HTTP_CF_IPCOUNTRY"

    request = rf.get("/", headers={"accept-language": "ru", "cf-ipcountry": header})

    assert countries.guess(request) == guessed


@pytest.mark.django_db
@pytest.mark.parametrize(("spoken", "title"), [("ru-KZ", "Казахстан"), ("en-GB", "United Kingdom")])
def test_sign_up_offers_the_guess_by_its_name(client: Client, spoken: str, title: str) -> None:
    page = client.get(reverse("account_signup"), headers={"accept-language": spoken})

    code = {"Казахстан": "KZ", "United Kingdom": "GB"}[title]
    assert f'<option value="{code}" selected>{title}</option>' in page.content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("country", "language"), [("KZ", "ru"), ("RU", "ru"), ("DE", "de"), ("GE", "en")]
)
def test_company_language_follows_its_country(client: Client, country: str, language: str) -> None:
    client.post(
        reverse("account_signup"),
        SIGNUP_FORM | {"country": country},
        headers={"accept-language": "en"},
    )

    company = Company.objects.get()
    assert (company.country, company.language) == (country, language)
    assert User.objects.get().language == "en"  # that of the page


@pytest.mark.django_db
@pytest.mark.parametrize("fields", [{}, {"country": ""}, {"country": "ZZ"}, {"country": "Россия"}])
def test_sign_up_without_a_country_is_refused(client: Client, fields: dict[str, Any]) -> None:
    response = client.post(reverse("account_signup"), SIGNUP_FORM | fields)

    assert list(response.context["form"].errors) == ["country"]
    assert not User.objects.exists()


def test_every_country_is_in_one_region() -> None:
    listed = [code for members in countries.REGIONS.values() for code in members.split()]

    assert sorted(listed) == sorted(countries.CODES)


def test_companies_signed_up_from_an_address_in_a_day_are_limited() -> None:
    """Each company may create 3,000 links and messages a day with a test key, free of charge."""
    rates = parse_rates(RATE_LIMITS["signup"])

    assert min(rate.amount * 86_400 / rate.duration for rate in rates if rate.per == "ip") <= 100
