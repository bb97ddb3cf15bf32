"""While OTP_KEYS rotate, every process checks the codes of every other one, in each step."""

import pytest
from pytest_django import Settings

from channels.models import Message
from otp.texts import rendering
from tests.api.clients import Api
from tests.otp.aging import age_rows
from tests.otp.sent_codes import code_of, verification_of

PHONE = "+79161234567"
OLD, NEW = {"old": b"o" * 32}, {"new": b"n" * 32}
# The lists of keys that run side by side during the restarts of each step.
STEPS = {
    "append": (OLD, OLD | NEW),
    "promote": (OLD | NEW, NEW | OLD),
    "drop": (NEW | OLD, NEW),
}
PAIRS = [pytest.param(a, b, id=f"{step}-{one}") for step, pair in STEPS.items()
         for one, (a, b) in {"before": pair, "after": pair[::-1]}.items()]  # fmt: skip
Ring = dict[str, bytes]


@pytest.mark.parametrize(("sender", "checker"), PAIRS)
def test_code_of_one_process_is_right_in_the_other(
    api: Api, settings: Settings, sender: Ring, checker: Ring
) -> None:
    settings.OTP_KEYS = sender
    api.post("/otp/send", {"phone": PHONE})
    code = code_of(PHONE)
    settings.OTP_KEYS = checker

    assert api.post("/otp/verify", {"phone": PHONE, "code": code}).status == 200


@pytest.mark.parametrize(("sender", "other"), PAIRS)
def test_code_of_one_process_is_resent_and_worded_by_the_other(
    api: Api, settings: Settings, sender: Ring, other: Ring
) -> None:
    settings.OTP_KEYS = sender
    api.post("/otp/send", {"phone": PHONE})
    code, verification = code_of(PHONE), verification_of(PHONE).pk
    age_rows(seconds=61)
    settings.OTP_KEYS = other

    api.post("/otp/send", {"phone": PHONE})

    resent = Message.objects.latest("created_at")
    rendered = rendering.render(
        subject_id=verification, params=resent.params, locale="ru", channel="whatsapp"
    )
    assert (resent.subject_id, rendered.code) == (verification, code)


def test_new_key_that_signs_before_all_know_it_breaks_codes(api: Api, settings: Settings) -> None:
    """Why the steps are three: this order is refused by `doctor`."""
    settings.OTP_KEYS = NEW | OLD
    api.post("/otp/send", {"phone": PHONE})
    code = code_of(PHONE)
    settings.OTP_KEYS = OLD

    assert api.post("/otp/verify", {"phone": PHONE, "code": code}).code == "code_invalid"
