"""What audit events keep of old and new values."""

from types import SimpleNamespace

import pytest

from accounts.audit.values import changes_between, changes_of


def test_only_what_differs_is_kept() -> None:
    stored = SimpleNamespace(a=1, b=["x"], c={"sms": 5, "whatsapp": 7})

    found = changes_of(stored, {"a": 1, "b": ["x", "y"], "c": {"sms": 6, "whatsapp": 7}})

    assert found == {"b": [["x"], ["x", "y"]], "c_sms": [5, 6]}


@pytest.mark.parametrize("name", ["secret", "signing_secret", "password", "api_token", "digest"])
def test_secrets_are_never_kept(name: str) -> None:
    assert changes_between({name: "old"}, {name: "new"}) == {name: ["•••", "•••"]}


def test_phones_are_masked_and_texts_are_cut() -> None:
    found = changes_between({"text": "+79161234567"}, {"text": "call +79161234567" + "x" * 900})

    (old, new) = found["text"]
    assert old == "+7916•••••67"
    assert "4567" not in new
    assert len(new) <= 520
