"""Second-factor secrets are stored encrypted, and key rotation is invisible to users."""

import json
import time
from functools import partial
from io import StringIO

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa import app_settings
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, format_hotp_value, generate_totp_secret, hotp_value
from django.core.cache import cache
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from accounts.models import AuditEvent, User
from accounts.security import change_limit
from accounts.sign_in import factor_forms, mfa
from tests.api.races import at_once
from tests.factories import PASSWORD, UserFactory
from tests.operator_admin.operators import code_now
from tests.reauthentication import mark_reauthenticated

pytestmark = pytest.mark.django_db
NEW_PASSWORD = "another long passphrase"
OLD_KEY = b"k8sFq2" * 8
NEW_KEY = b"mW4x0Z" * 8


@pytest.fixture(autouse=True)
def _keys(settings: Settings) -> None:
    settings.MFA_KEYS = {"old": OLD_KEY}


@pytest.fixture
def user(db: None) -> User:
    user = UserFactory.create()
    EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
    return user


def stored() -> str:
    return json.dumps(list(Authenticator.objects.order_by("pk").values_list("data", flat=True)))


def store_in_clear(user: User, secret: str) -> None:
    Authenticator.objects.create(user=user, type=Authenticator.Type.TOTP, data={"secret": secret})
    Authenticator.objects.create(
        user=user, type=Authenticator.Type.RECOVERY_CODES, data={"seed": "5eed", "used_mask": 2}
    )


def sign_in(user: User, code: str) -> bool:
    return finish(begin(user), code)


def begin(user: User) -> Client:
    """A browser that has passed the password step and is asked for a code."""
    client = Client()
    client.post(reverse("account_login"), {"login": user.email, "password": PASSWORD})
    return client


def finish(client: Client, code: str) -> bool:
    client.post(reverse("mfa_authenticate"), {"code": code})
    return "_auth_user_id" in client.session


def test_totp_secret_is_encrypted_and_still_works(user: User) -> None:
    secret = generate_totp_secret()
    TOTP.activate(user, secret)

    assert stored().startswith('[{"secret": "fernet:old:')
    assert secret not in stored()
    assert sign_in(user, code_now(secret))


def code_at(secret: str, steps: int) -> str:
    """The code of an app whose clock is `steps` ahead."""
    counter = int(time.time()) // app_settings.TOTP_PERIOD + steps
    return format_hotp_value(hotp_value(secret, counter))


@pytest.fixture
def app(user: User) -> str:
    """Returns the secret of the user's authenticator app, early in a step of its codes."""
    secret = generate_totp_secret()
    TOTP.activate(user, secret)
    code_now(secret)
    return secret


@pytest.mark.parametrize("route", ["account_change_password", "session-end-others"])
def test_first_factor_of_stranger_expires_when_owner_acts(user: User, app: str, route: str) -> None:
    """Otherwise it would stay valid in the stranger's browser for a quarter of an hour."""
    stranger = begin(user)
    owner = Client()
    owner.force_login(user)
    mark_reauthenticated(owner, user, "mfa")
    new = {"oldpassword": PASSWORD, "password1": NEW_PASSWORD, "password2": NEW_PASSWORD}
    owner.post(reverse(route), new)

    assert not finish(stranger, code_at(app, 0))
    assert stranger.get(reverse("mfa_authenticate")).headers["Location"] == reverse("account_login")


@pytest.mark.parametrize(("steps", "is_in"), [(-2, False), (-1, True), (1, True), (2, False)])
def test_clock_may_differ_by_a_step(user: User, app: str, steps: int, is_in: bool) -> None:
    assert sign_in(user, code_at(app, steps)) == is_in


PASTED = ["{a} {b}", "{a}\u00a0{b}", "{a}\u202f{b}\u200b", "\ufeff{a}–{b}", "{a}{b}\u2060\n"]


@pytest.mark.parametrize("spelling", [*PASTED, "fullwidth", "arabic"])
def test_code_may_be_pasted_as_people_have_it(user: User, app: str, spelling: str) -> None:
    code = code_at(app, 0)
    zero = {"fullwidth": "０", "arabic": "٠"}.get(spelling)
    spelt = spelling.format(a=code[:3], b=code[3:])
    if zero:
        spelt = "".join(chr(ord(zero) + int(digit)) for digit in code)

    assert sign_in(user, spelt)
    assert not sign_in(user, code)


def test_first_app_code_may_be_pasted_and_does_not_sign_in(user: User) -> None:
    client = Client()
    client.force_login(user)
    mark_reauthenticated(client, user, "password")
    client.get(reverse("mfa_activate_totp"))
    secret = client.session["mfa.totp.secret"]
    code = code_now(secret)

    client.post(reverse("mfa_activate_totp"), {"code": f"{code[:3]}\u00a0{code[3:]}\u200b"})

    assert Authenticator.objects.filter(user=user, type=Authenticator.Type.TOTP).exists()
    assert not sign_in(user, code)
    assert sign_in(user, code_at(secret, 1))


def test_code_is_used_once_while_it_is_good(user: User, app: str) -> None:
    code = code_at(app, 1)
    assert sign_in(user, code)
    # allauth's own mark, which lasts for one step of the three.
    cache.delete(f"allauth.mfa.totp.used?user={user.pk}&code={code}")

    assert not sign_in(user, code)
    assert not sign_in(user, f"{code[:3]} {code[3:]}")


def test_used_code_confirms_nothing(user: User, app: str) -> None:
    code = code_at(app, 0)
    client = Client()
    client.post(reverse("account_login"), {"login": user.email, "password": PASSWORD})
    client.post(reverse("mfa_authenticate"), {"code": code})
    cache.delete(f"allauth.mfa.totp.used?user={user.pk}&code={code}")

    form = factor_forms.ReauthenticateForm({"code": code}, user=user)

    assert "_auth_user_id" in client.session
    assert not form.is_valid()
    assert factor_forms.ReauthenticateForm({"code": code_at(app, 1)}, user=user).is_valid()


def test_recovery_codes_removed_during_sign_in_cause_no_error(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    TOTP.activate(user, generate_totp_secret())
    code = RecoveryCodes.activate(user).get_unused_codes()[0]
    validate = RecoveryCodes.validate_code

    def validate_after_removal(codes: RecoveryCodes, typed: str) -> bool:
        Authenticator.objects.filter(pk=codes.instance.pk).delete()
        return bool(validate(codes, typed))

    monkeypatch.setattr(RecoveryCodes, "validate_code", validate_after_removal)

    assert not sign_in(user, code)


def test_recovery_code_seed_is_encrypted(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RecoveryCodes, "generate_seed", classmethod(lambda _cls: "5eed"))
    TOTP.activate(user, generate_totp_secret())
    codes = RecoveryCodes.activate(user).generate_codes()

    assert "5eed" not in stored()
    assert sign_in(user, codes[0])
    assert not sign_in(user, codes[0])


def test_old_key_still_decrypts_after_a_new_one_is_added(user: User, settings: Settings) -> None:
    secret = generate_totp_secret()
    TOTP.activate(user, secret)
    settings.MFA_KEYS = {"new": NEW_KEY, "old": OLD_KEY}

    assert sign_in(user, code_now(secret))
    assert mfa.encrypt("x").startswith("fernet:new:")


def test_rotation_makes_the_old_key_unnecessary(user: User, settings: Settings) -> None:
    secret = generate_totp_secret()
    TOTP.activate(user, secret)
    store_in_clear(UserFactory.create(), "JBSWY3DPEHPK3PXP")
    settings.MFA_KEYS = {"new": NEW_KEY, "old": OLD_KEY}
    output = StringIO()

    call_command("rotate_mfa_keys", stdout=output)

    settings.MFA_KEYS = {"new": NEW_KEY}
    assert output.getvalue().splitlines() == [
        "no key: 2",
        "key old: 1",
        "All 3 secrets are under key new now.",
    ]
    assert "fernet:old:" not in stored()
    assert "JBSWY3DPEHPK3PXP" not in stored()
    assert sign_in(user, code_now(secret))


def test_passkeys_have_no_secret_to_encrypt(user: User) -> None:
    data = {"name": "Phone", "credential": {"public": "key"}}
    Authenticator.objects.create(user=user, type=Authenticator.Type.WEBAUTHN, data=data)

    assert mfa.rotate() == {}
    assert json.loads(stored()) == [data]


@pytest.mark.parametrize(
    ("keys", "expected_text"),
    [
        ({"new": NEW_KEY}, "MFA_KEYS lacks the key 'old'"),
        ({"old": NEW_KEY}, "MFA_KEYS has another secret for 'old'"),
    ],
)
def test_missing_key_is_named(
    settings: Settings, keys: dict[str, bytes], expected_text: str
) -> None:
    text = mfa.encrypt("JBSWY3DPEHPK3PXP")
    settings.MFA_KEYS = keys

    with pytest.raises(ImproperlyConfigured) as caught:
        mfa.decrypt(text)

    assert expected_text in str(caught.value)
    assert "JBSW" not in str(caught.value)


@pytest.mark.django_db(transaction=True)
def test_concurrent_removal_of_last_factors_removes_recovery_codes(user: User) -> None:
    TOTP.activate(user, generate_totp_secret())
    RecoveryCodes.activate(user)
    passkey = Authenticator.objects.create(user=user, type=Authenticator.Type.WEBAUTHN, data={})
    clients = [Client(), Client()]
    for client in clients:
        client.force_login(user)
        mark_reauthenticated(client, user, "mfa")
    pages = [reverse("mfa_deactivate_totp"), reverse("mfa_remove_webauthn", args=[passkey.pk])]

    at_once([partial(client.post, page) for client, page in zip(clients, pages, strict=True)])

    left = set(Authenticator.objects.values_list("type", flat=True))
    assert left != {Authenticator.Type.RECOVERY_CODES}
    assert len([client for client in clients if "_auth_user_id" in client.session]) == 1


@pytest.mark.parametrize("route", ["mfa_view_recovery_codes", "mfa_download_recovery_codes"])
def test_views_of_recovery_codes_are_limited(
    user: User, app: str, monkeypatch: pytest.MonkeyPatch, route: str
) -> None:
    """Each view is recorded for ever, and notified by e-mail."""
    monkeypatch.setattr(change_limit, "CHANGES", ((2, 600),))
    RecoveryCodes.activate(user)
    client = Client()
    client.force_login(user)
    mark_reauthenticated(client, user, "mfa")

    assert [client.get(reverse(route)).status_code for _n in range(3)] == [200, 200, 429]
    assert client.post(reverse("mfa_generate_recovery_codes")).status_code == 429
    assert AuditEvent.objects.filter(action="recovery_codes.viewed").count() == 2
