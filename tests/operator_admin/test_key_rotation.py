"""The `doctor` checks that every process has the keys of a rotation."""

import re
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone
from pytest_django import Settings

from accounts.models import Invitation
from billing.signed_links import LIFETIME
from channels.deliver.heartbeats import HeartbeatWriter
from channels.models import Heartbeat
from operator_admin.doctor import key_rotation
from operator_admin.doctor.finding import Finding
from persons.erasure import erase
from persons.person import Person
from storage.key_rings import current_key_id
from tests.api.clients import Api
from tests.factories import CompanyFactory
from tests.packages import ROOT
from tests.sql import execute
from webhooks.models import Endpoint

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("english")]
K1 = {"k1": b"1" * 32}
K2 = {"k2": b"2" * 32}
Ring = dict[str, bytes]


def write_heartbeat(settings: Settings, process: str, ring: Ring, name: str = "OTP_KEYS") -> None:
    """A heartbeat of another process, which has these keys."""
    setattr(settings, name, ring)
    HeartbeatWriter("web").write({})
    execute("UPDATE channels_heartbeat SET process = %s WHERE process LIKE 'web %% %%'", [process])


def finding(name: str = "OTP_KEYS") -> Finding:
    return {ring.name: ring for ring in key_rotation.key_rings()}[name]


def judged(settings: Settings, *rings: Ring) -> Finding:
    """Judges processes with these lists; the doctor runs with the last one."""
    for number, ring in enumerate(rings, start=1):
        write_heartbeat(settings, f"web-{number}", ring)
    return finding()


def test_same_key_everywhere_is_not_a_rotation(settings: Settings) -> None:
    assert judged(settings, K1, K1).detail == "k1 signs"


@pytest.mark.parametrize("rings", [(K1, K2 | K1), (K2 | K1, K1), (K1, K2)])
def test_key_that_signs_before_every_process_has_it_fails(
    settings: Settings, rings: tuple[Ring, ...]
) -> None:
    result = judged(settings, *rings)

    assert not result.ok
    assert "signs and is unknown to" in result.detail
    assert "A new key goes last" in result.remedy


def test_process_without_the_key_is_named(settings: Settings) -> None:
    result = judged(settings, K1, K1, K2 | K1)

    assert result.detail == "k2 signs and is unknown to web-1 and 1 more"


def test_settings_are_checked_before_any_process_has_them(settings: Settings) -> None:
    write_heartbeat(settings, "web-1", K1)
    settings.OTP_KEYS = K2 | K1

    assert finding().detail == "k2 signs and is unknown to web-1"


def test_same_id_with_another_secret_fails(settings: Settings) -> None:
    result = judged(settings, K1, {"k1": b"9" * 32})

    assert result.detail == "k1 signs and has another secret in web-2 and 1 more"


@pytest.mark.parametrize(
    ("rings", "detail"),
    [
        ((K1, K1 | K2), "step 1 or 3 under way: the keys differ in web-1"),
        ((K1 | K2, K2 | K1), "step 2 under way: k2 is not first in web-1"),
        ((K2 | K1, K2), "step 1 or 3 under way: the keys differ in web-1"),
    ],
)
def test_differing_processes_need_restart_before_next_step(
    settings: Settings, rings: tuple[Ring, ...], detail: str
) -> None:
    result = judged(settings, *rings)

    assert (result.ok, result.detail, result.remedy) == (
        False,
        detail,
        str(key_rotation.RESTART_REMEDY),
    )


def test_key_that_nothing_needs_may_be_promoted_or_dropped(settings: Settings) -> None:
    result = judged(settings, K1 | K2, K1 | K2)

    assert result.ok
    assert "k2 verifies, and nothing needs it: if it is new put it first" in result.detail


def test_key_of_live_codes_is_kept(api: Api, settings: Settings) -> None:
    settings.OTP_KEYS = K1
    api.post("/otp/send", {"phone": "+79161234567"})

    assert "k1 verifies, and 1 live codes need it" in judged(settings, K2 | K1).detail


def test_key_dropped_while_codes_need_it_fails(api: Api, settings: Settings) -> None:
    settings.OTP_KEYS = K1
    api.post("/otp/send", {"phone": "+79161234567"})

    result = judged(settings, K2)

    assert (result.ok, result.detail) == (False, "k1 is missing, and 1 live codes need it")


@pytest.mark.parametrize("replaced", [False, True])
def test_key_of_an_endpoint_is_kept(settings: Settings, *, replaced: bool) -> None:
    until = timezone.now() + timedelta(hours=1)
    keys = {"key_id": "k2", "previous_key_id": "k1", "previous_until": until}
    Endpoint.objects.create(
        company=CompanyFactory.create(),
        mode="live",
        url="https://shop.example/",
        kinds=[],
        **(keys if replaced else {"key_id": "k1"}),
    )
    settings.WEBHOOK_KEYS = K2 | K1

    assert "k1 verifies, and 1 secrets of endpoints" in finding("WEBHOOK_KEYS").detail


def test_key_of_the_list_of_erasures_is_kept(settings: Settings) -> None:
    settings.WEBHOOK_KEYS = K1
    erase(person=Person("+79161234567"))
    settings.WEBHOOK_KEYS = K2 | K1

    assert "and erasures need it: keep it" in finding("WEBHOOK_KEYS").detail


def test_keys_of_a_silent_process_are_ignored(settings: Settings) -> None:
    write_heartbeat(settings, "web-1", K1)
    Heartbeat.objects.update(at=timezone.now() - timedelta(seconds=60))
    settings.OTP_KEYS = K2

    assert finding().ok


def test_process_of_the_previous_release_is_not_checked(settings: Settings) -> None:
    Heartbeat.objects.create(process="web-1", kind="web", at=timezone.now(), details={"waiters": 1})
    settings.OTP_KEYS = K2

    assert finding().ok


def test_second_factors_avoid_key_missing_in_a_process(
    settings: Settings,
) -> None:
    write_heartbeat(settings, "web-1", K1, "MFA_KEYS")
    settings.MFA_KEYS = K2 | K1

    with pytest.raises(CommandError, match=r"do not know key k2 yet: web-1"):
        call_command("rotate_mfa_keys", stdout=StringIO())


def test_second_factors_wait_for_key_in_every_process(settings: Settings) -> None:
    write_heartbeat(settings, "web-1", K1 | K2, "MFA_KEYS")
    settings.MFA_KEYS = K2 | K1
    output = StringIO()

    call_command("rotate_mfa_keys", stdout=output)

    assert output.getvalue().startswith("All 0 secrets are under key k2")
    assert current_key_id() == "k2"


def test_guide_keeps_an_old_key_as_long_as_its_signatures(settings: Settings) -> None:
    keys, backup = (
        (ROOT / "docs/operations" / name).read_text() for name in ("keys.md", "backup.md")
    )
    days = int(re.findall(r"drop the old one (\d+) days later", keys)[0])
    minutes = re.findall(r"(\d+) minutes, the longest life of a code", keys)
    minutes += re.findall(r"codes of the last (\d+) minutes", backup)

    assert timedelta(days=days) > max(LIFETIME, Invitation.LIFETIME)
    assert [int(number) * 60 for number in minutes] == [settings.CODE_LIFETIME_RANGE[1]] * 2
