"""`in_live_months` when a month begins: the live code may be in the partition before."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from django.utils import timezone

from catalogue.ids import first_id_at, uuid7
from channels.models import Message
from otp import codes
from otp.models import Verification
from storage.months import recent_ids
from tests.api.clients import Api
from tests.otp.sent_codes import code_of, forget_limits
from tests.sql import execute

pytestmark = pytest.mark.django_db

PHONE = "+79161234567"


def first_of_next_month() -> datetime:
    now = timezone.now().astimezone(UTC)
    return (now.replace(day=1) + timedelta(days=31)).replace(day=1, hour=0, minute=0, second=0)


@pytest.fixture(autouse=True)
def midnight(monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches for ids as just after a month began."""
    day = int(first_of_next_month().timestamp()) // 86_400
    monkeypatch.setattr(recent_ids, "_day", lambda: day)


def move_to_next_month(verification: Verification) -> UUID:
    """As if its id had been made a moment later, just after midnight."""
    new = UUID(int=first_id_at(first_of_next_month()).int + uuid7().int % 2**60)
    Verification.objects.filter(pk=verification.pk).update(
        id=new,
        mac=codes.mac(
            key_id=verification.key_id,
            company_id=verification.company_id,
            mode=verification.mode,
            phone=verification.phone,
            purpose=verification.purpose,
            code=codes.derive(new, key_id=verification.key_id, length=verification.length),
        ),
    )
    Message.objects.filter(subject_id=verification.pk).update(subject_id=new)
    return new


def partition_of(verification_id: UUID) -> str:
    rows = execute(
        "SELECT tableoid::regclass::text FROM otp_verification WHERE id = %s", [verification_id]
    )
    return str(rows[0][0])


def send(api: Api) -> Verification:
    forget_limits()
    assert api.post("/otp/send", {"phone": PHONE}).status == 200
    return Verification.objects.order_by("-created_at", "-id").first() or pytest.fail("none")


def test_code_of_the_month_before_is_repeated_and_checked(api: Api) -> None:
    moved = move_to_next_month(send(api))
    assert partition_of(moved).endswith(f"{first_of_next_month():_%Y_%m}")

    forget_limits()
    resent = api.post("/otp/send", {"phone": PHONE})
    checked = api.post("/otp/verify", {"phone": PHONE, "code": code_of(PHONE)})

    assert resent.status == checked.status == 200
    assert Verification.objects.count() == 1


def two_live(api: Api) -> tuple[Verification, Verification]:
    """Two sends at the same instant that saw no code yet, one in each month."""
    first = send(api)
    moved = move_to_next_month(first)
    Verification.objects.filter(pk=moved).update(superseded_at=timezone.now())
    second = send(api)
    Verification.objects.filter(pk=moved).update(superseded_at=None)
    return Verification.objects.get(pk=moved), second


def code_for(verification: Verification) -> str:
    return codes.derive(verification.id, key_id=verification.key_id, length=verification.length)


@pytest.mark.parametrize("which", [0, 1])
def test_either_of_two_live_codes_is_right_once(api: Api, which: int) -> None:
    both = two_live(api)
    code = code_for(both[which])

    responses = [api.post("/otp/verify", {"phone": PHONE, "code": code}) for _ in range(2)]

    assert responses[0].status == 200
    assert responses[1].code == "code_invalid"  # of the other one


def test_guess_counts_for_both_live_codes(api: Api) -> None:
    right = {code_for(verification) for verification in two_live(api)}
    wrong = next(code for code in ("000000", "111111", "222222") if code not in right)

    codes = [api.post("/otp/verify", {"phone": PHONE, "code": wrong}).code for _ in range(6)]

    assert codes == ["code_invalid"] * 5 + ["too_many_attempts"]


def test_next_send_supersedes_both(api: Api) -> None:
    two_live(api)
    now = timezone.now()
    Verification.objects.update(created_at=now - timedelta(minutes=5), expires_at=now)

    third = send(api)

    assert list(Verification.objects.filter(superseded_at=None)) == [third]


@pytest.mark.parametrize("which", [0, 1])
def test_id_checks_named_code_of_two_live_ones(api: Api, which: int) -> None:
    both = two_live(api)
    named = both[which]
    other = both[1 - which]

    guesses = [code_for(other), code_for(named)]
    responses = [api.post("/otp/verify", {"id": named.public_id, "code": code}) for code in guesses]

    assert (responses[0].code, responses[1].status) == ("code_invalid", 200)
    other.refresh_from_db()
    assert (other.attempts, other.verified_at) == (0, None)
