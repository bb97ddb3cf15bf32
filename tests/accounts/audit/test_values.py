"""What audit events keep of old and new values."""

import pytest

from accounts.audit import changes_between


@pytest.mark.parametrize(
    "value",
    [
        "https://wa.me/79161230089",
        "https://example.com/?tel=%2B7%20916%20123-00-89",
        "utm_term=79161230089",
        "to +79161230089",
        ["https://wa.me/79161230089"],
        "x" * 480 + "+79161230089",
    ],
)
def test_phone_is_masked_in_addresses_and_texts(value: object) -> None:
    kept = str(changes_between({"url": "https://example.com/"}, {"url": value}))

    assert "1230089" not in kept.replace("-", "")
    assert "•••••" in kept


def test_numbers_that_are_no_phones_stay() -> None:
    kept = changes_between({"inn": ""}, {"inn": "7707083893", "kpp": "770701001"})

    assert kept == {"inn": ["", "7707083893"], "kpp": [None, "770701001"]}
