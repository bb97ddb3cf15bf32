"""Signatures are made here by the servers' own libraries, or as their sources say."""

import base64
import hashlib
import hmac
from datetime import UTC, datetime

import pytest
from standardwebhooks import Webhook

from identity_hooks import signatures
from identity_hooks.hook_call import HookCall
from identity_hooks.signatures import Check

BODY = b'{"sms": {"otp": "561166"}}'
AT = 1_795_176_000.0


def call(body: bytes = BODY, path_secret: str = "", /, **headers: str) -> HookCall:
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return HookCall("POST", named, "", body, AT, path_secret=path_secret)


def standard(secret: str, at: float = AT, body: bytes = BODY) -> str:
    """Headers signed by the library that Supabase uses."""
    webhook = Webhook(secret.removeprefix("v1,"))
    return webhook.sign("msg_1", datetime.fromtimestamp(at, UTC), body.decode())


def signed(signature: str, at: float = AT, body: bytes = BODY) -> HookCall:
    return call(
        body, webhook_id="msg_1", webhook_timestamp=str(int(at)), webhook_signature=signature
    )


@pytest.mark.parametrize("joint", [" ", ", ", ","])
def test_one_of_several_signatures_is_enough(joint: str) -> None:
    ours = signatures.new_supabase_secret()
    other = signatures.new_supabase_secret()
    check = signatures.standard_webhooks()

    both = joint.join([standard(other), standard(ours)])

    assert check(signed(both), ours)
    assert check(signed(both), other)
    assert not check(signed(both), signatures.new_supabase_secret())


@pytest.mark.parametrize("seconds", [-301, 301, -86_400])
def test_signature_outside_the_tolerance_is_refused(seconds: int) -> None:
    secret = signatures.new_supabase_secret()

    assert not signatures.standard_webhooks()(
        signed(standard(secret, AT + seconds), AT + seconds), secret
    )


@pytest.mark.parametrize("seconds", [-299, 0, 299])
def test_signature_within_the_tolerance_is_accepted(seconds: int) -> None:
    secret = signatures.new_supabase_secret()

    assert signatures.standard_webhooks()(
        signed(standard(secret, AT + seconds), AT + seconds), secret
    )


@pytest.mark.parametrize(
    "timestamp", ["", "now", "-1", "1e9", "١٧٩٥١٧٦٠٠٠", "9" * 400, "1795176000.5"]
)
def test_odd_timestamp_is_refused(timestamp: str) -> None:
    secret = signatures.new_supabase_secret()
    made = call(webhook_id="msg_1", webhook_timestamp=timestamp, webhook_signature=standard(secret))

    assert not signatures.standard_webhooks()(made, secret)


@pytest.mark.parametrize("change", ["body", "id", "signature", "version"])
def test_signature_covers_id_time_and_raw_body(change: str) -> None:
    secret = signatures.new_supabase_secret()
    signature = standard(secret)
    headers = {"webhook-id": "msg_1", "webhook-timestamp": str(int(AT))}
    headers["webhook-signature"] = signature
    body = BODY
    if change == "body":
        body = BODY.replace(b": ", b":")
    elif change == "id":
        headers["webhook-id"] = "msg_2"
    elif change == "signature":
        headers["webhook-signature"] = f"v1,{base64.b64encode(bytes(32)).decode()}"
    else:
        headers["webhook-signature"] = signature.replace("v1,", "v1a,")

    assert not signatures.standard_webhooks()(HookCall("POST", headers, "", body, AT), secret)


def zitadel_header(secret: str, at: float = AT) -> str:
    """The header that `pkg/actions/signing.go` computes."""
    mac = hmac.new(secret.encode(), f"{int(at)}.".encode() + BODY, hashlib.sha256)
    return f"t={int(at)},v1={mac.hexdigest()}"


def test_zitadel_header_of_several_keys_is_accepted() -> None:
    header = zitadel_header("old key") + "," + zitadel_header("new key").partition(",")[2]

    assert signatures.zitadel(call(zitadel_signature=header), "old key")
    assert signatures.zitadel(call(zitadel_signature=header), "new key")
    assert not signatures.zitadel(call(zitadel_signature=header), "another key")


@pytest.mark.parametrize(
    "header",
    ["", "v1=00", "t=1", "t=1795176000,v1=", f"t={int(AT) - 301},v1=00", zitadel_header("k", 1.0)],
)
def test_zitadel_header_that_proves_nothing_is_refused(header: str) -> None:
    assert not signatures.zitadel(call(zitadel_signature=header), "k")


def test_old_zitadel_proves_itself_by_the_path() -> None:
    assert signatures.zitadel(call(BODY, "kvh_secret"), "kvh_secret")
    assert not signatures.zitadel(call(BODY, "kvh_other"), "kvh_secret")


def test_authgear_signature_is_the_hex_of_the_body() -> None:
    check = signatures.body_hmac("x-authgear-body-signature")
    made = hmac.new(b"key", BODY, hashlib.sha256).hexdigest()

    assert check(call(x_authgear_body_signature=made), "key")
    assert check(call(x_authgear_body_signature=made.upper()), "key")
    assert not check(call(x_authgear_body_signature=made), "another")
    assert not check(call(), "key")


BASIC = base64.b64encode(b"kvitok:kvh_secret").decode()


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": "kvh_secret"},
        {"authorization": "Bearer kvh_secret"},
        {"authorization": "bearer  kvh_secret "},
        {"authorization": f"Basic {BASIC}"},
        {"x_api_key": "kvh_secret"},
    ],
    ids=str,
)
def test_token_is_read_wherever_servers_put_it(headers: dict[str, str]) -> None:
    assert signatures.token(call(**headers), "kvh_secret")
    assert not signatures.token(call(**headers), "kvh_secrets")


@pytest.mark.parametrize(
    "headers",
    [{}, {"authorization": ""}, {"authorization": "Basic !"}, {"authorization": "Basic a2V5"}],
    ids=str,
)
def test_missing_and_malformed_credentials_are_refused(headers: dict[str, str]) -> None:
    checks: list[Check] = [
        signatures.token,
        signatures.zitadel,
        signatures.standard_webhooks(),
        signatures.standard_webhooks("svix"),
        signatures.body_hmac("x-signature"),
        signatures.named_header("x-key"),
    ]
    secret = signatures.new_standard_secret()

    assert [check(call(**headers), secret) for check in checks] == [False] * len(checks)


@pytest.mark.parametrize(
    ("text", "is_valid"),
    [
        ("whsec_" + base64.b64encode(bytes(24)).decode(), True),
        ("v1,whsec_" + base64.b64encode(bytes(64)).decode(), True),
        ("whsec_" + base64.b64encode(bytes(23)).decode(), False),
        ("whsec_" + base64.b64encode(bytes(65)).decode(), False),
        ("whsec_not base64", False),
        ("secret", False),
    ],
)
def test_standard_secret_is_24_to_64_bytes(text: str, is_valid: bool) -> None:
    assert signatures.is_standard(text) is is_valid
