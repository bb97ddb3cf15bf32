"""A process's report of its keys tells them apart and reveals none."""

from pytest_django import Settings

from storage.key_rings import identities


def test_keys_are_in_the_order_of_the_list(settings: Settings) -> None:
    settings.WEBHOOK_KEYS = {"b": b"x" * 32, "a": b"y" * 32}

    assert [key.split(":")[0] for key in identities()["WEBHOOK_KEYS"]] == ["b", "a"]


def test_another_secret_under_the_same_id_is_another_key(settings: Settings) -> None:
    settings.OTP_KEYS = {"k1": b"x" * 32}
    before = identities()["OTP_KEYS"]
    settings.OTP_KEYS = {"k1": b"y" * 32}

    assert identities()["OTP_KEYS"] != before


def test_no_part_of_a_secret_is_reported(settings: Settings) -> None:
    secret = "3f9ac81e55d04b7792c6aa1e08b7fd42"
    settings.MFA_KEYS = {"k1": secret.encode()}

    (reported,) = identities()["MFA_KEYS"]

    assert len(reported) == len("k1:") + 8
    assert reported.removeprefix("k1:") not in secret
