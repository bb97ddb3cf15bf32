"""API keys sign requests in, as far as they, their company and their allowed addresses let them."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone
from hypothesis import given, strategies
from pytest_django import DjangoAssertNumQueries, DjangoCaptureOnCommitCallbacks, Settings

from accounts import key_issuing
from accounts.key_issuing import revoke_api_key
from accounts.keys import api_keys, key_format
from accounts.models import ApiKey, Company, Mode
from tests.accounts.keys.ageing import age_cache
from tests.api.clients import Api, ClientOf
from tests.api.races import at_once
from tests.factories import ApiKeyFactory, MemberFactory

KEY = key_format.generate("live")


def _ended_key(**fields: object) -> Callable[[Company], str]:
    return lambda company: f"Bearer {ApiKeyFactory.create(company=company, **fields).plaintext}"


def _flipped(company: Company) -> str:
    key = ApiKeyFactory.create(company=company).plaintext
    return f"Bearer {key[:-1]}{'a' if key[-1] != 'a' else 'b'}"


CAUSES: dict[str, Callable[[Company], str | None]] = {
    "missing": lambda _company: None,
    "empty": lambda _company: "",
    "no key": lambda _company: "Bearer ",
    "another scheme": lambda _company: f"Basic {KEY}",
    "no scheme": lambda _company: KEY,
    "junk": lambda _company: "Bearer secret",
    "not ASCII": lambda _company: "Bearer kv_live_ключ",
    "very long": lambda _company: f"Bearer {KEY * 100}",
    "checksum": _flipped,
    "unknown": lambda _company: f"Bearer {KEY}",
    "revoked": _ended_key(revoked_at=timezone.now()),
    "expired": _ended_key(expires_at=timezone.now()),
}


@pytest.mark.parametrize("cause", CAUSES)
@pytest.mark.parametrize(
    ("language", "text"), [("ru", "Недействительный API-ключ"), ("en", "Invalid API key")]
)
def test_every_invalid_key_gets_the_same_answer(
    company: Company, cause: str, language: str, text: str
) -> None:
    header = CAUSES[cause](company)
    headers = {} if header is None else {"Authorization": header}
    api = Api(company, None, **headers, **{"Accept-Language": language})

    response = api.post("/otp/send", {"phone": "+79161234567"})

    assert response.status == 401
    assert response.headers["WWW-Authenticate"] == "Bearer"
    assert "RateLimit" not in response.headers
    assert response.body == {
        "success": False,
        "code": "invalid_api_key",
        "message": text,
        "request_id": response.headers["X-Request-Id"],
    }


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER", " Bearer ", "bEaReR  "])
def test_authorization_scheme_is_case_insensitive(company: Company, scheme: str) -> None:
    key = ApiKeyFactory.create(company=company)

    response = Api(company, None, Authorization=f"{scheme} {key.plaintext}").get("/balance")

    assert response.status == 200


def test_revoke_takes_effect_at_once_in_this_process(
    api: Api, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    assert api.get("/balance").status == 200
    owner = MemberFactory.create(company=api.company).user

    with django_capture_on_commit_callbacks(execute=True):
        revoke_api_key(key=ApiKey.objects.get(company=api.company), user=owner)

    assert api.get("/balance").status == 401


def test_revoke_takes_effect_within_two_seconds_in_other_processes(api: Api) -> None:
    assert api.get("/balance").status == 200

    ApiKey.objects.filter(company=api.company).update(revoked_at=timezone.now())

    assert api.get("/balance").status == 200
    assert api_keys.CACHE_SECONDS <= 2.0
    age_cache(2.0)
    assert api.get("/balance").status == 401


def test_malformed_key_is_refused_without_a_query(
    company: Company, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(0):
        response = Api(company, KEY[:-1] + "_").get("/balance")

    assert response.status == 401


def test_key_is_read_once_and_last_used_at_is_set(
    api: Api, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(1 + 2):  # the key, then a balance for each call
        api.get("/balance")
        api.get("/balance")

    used_at = ApiKey.objects.get(company=api.company).last_used_at
    assert used_at is not None
    assert timezone.now() - used_at < timedelta(seconds=30)


@pytest.mark.parametrize(
    ("allowed", "address", "status"),
    [
        ([], "203.0.113.9", 200),
        (["203.0.113.9"], "203.0.113.9", 200),
        (["203.0.113.9"], "203.0.113.10", 403),
        (["203.0.113.0/24", "2001:db8::/32"], "2001:db8::1", 200),
        (["203.0.113.0/24"], "::ffff:203.0.113.9", 200),
        (["203.0.113.0/24"], "2001:db8::1", 403),
        (["203.0.113.0/24"], "", 403),
        (["203.0.113.0/24"], "unknown", 403),
    ],
)
def test_allow_list_of_addresses(
    company: Company,
    client_of: ClientOf,
    settings: Settings,
    *,
    allowed: list[str],
    address: str,
    status: int,
) -> None:
    settings.TRUSTED_PROXY_COUNT = 1
    api = client_of(company, Mode.LIVE, allowed_ips=allowed)

    response = api.get("/balance", X_Forwarded_For=f"203.0.113.9, {address}" if address else ",")

    assert response.status == status


def test_forwarded_address_is_ignored_without_a_trusted_proxy(
    company: Company, client_of: ClientOf
) -> None:
    api = client_of(company, Mode.LIVE, allowed_ips=["203.0.113.9"])

    assert api.get("/balance", X_Forwarded_For="203.0.113.9").status == 403


def test_test_keys_work_before_approval(company: Company, client_of: ClientOf) -> None:
    Company.objects.filter(pk=company.pk).update(status=Company.Status.PENDING)

    assert client_of(company, Mode.TEST).post("/otp/send", {"phone": "+79161234567"}).status == 200
    assert client_of(company, Mode.LIVE).get("/balance").status == 403


def test_suspended_company_loses_its_test_keys_too(company: Company, client_of: ClientOf) -> None:
    Company.objects.filter(pk=company.pk).update(status=Company.Status.SUSPENDED)

    assert client_of(company, Mode.TEST).get("/balance").status == 403


@given(mode=strategies.sampled_from(["live", "test"]), position=strategies.integers(8, 45))
def test_generated_keys_are_valid_and_altered_ones_are_not(mode: str, position: int) -> None:
    key = key_format.generate(mode)

    assert len(key) == 46
    assert key_format.is_well_formed(key)
    other = "b" if key[position] == "a" else "a"
    assert not key_format.is_well_formed(key[:position] + other + key[position + 1 :])


@pytest.mark.django_db(transaction=True)
def test_parallel_requests_cannot_exceed_the_key_limit() -> None:
    member = MemberFactory.create()
    ApiKeyFactory.create_batch(key_issuing.MAX_ACTIVE_KEYS - 1, company=member.company)

    def try_to_create() -> str:
        try:
            key_issuing.create_api_key(
                company=member.company, user=member.user, mode="test", name="Racer"
            )
        except ValidationError:
            return "refused"
        return "created"

    outcomes = at_once([try_to_create] * 6)

    assert sorted(outcomes) == ["created"] + ["refused"] * 5
    assert member.company.api_keys.active().count() == key_issuing.MAX_ACTIVE_KEYS


@pytest.mark.django_db
def test_keys_created_in_a_day_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Expired keys are kept, and pages that list keys to choose from read them all."""
    monkeypatch.setattr(key_issuing, "MAX_NEW_KEYS", 3)
    member = MemberFactory.create()
    make = partial(
        key_issuing.create_api_key,
        company=member.company,
        user=member.user,
        mode="test",
        name="CI",
    )
    for _number in range(2):
        key_issuing.revoke_api_key(key=make()[0], user=member.user)
    last, _plaintext = make()

    with pytest.raises(ValidationError):
        make()
    with pytest.raises(ValidationError):
        key_issuing.rotate_api_key(key=last, user=member.user)

    member.company.api_keys.update(created_at=timezone.now() - timedelta(days=2))
    key_issuing.rotate_api_key(key=last, user=member.user)
