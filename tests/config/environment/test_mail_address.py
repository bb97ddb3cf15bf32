"""The mail server's URL: whatever names encryption gets it, and nothing is taken for none."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from config.environment.mail_address import parse


@pytest.mark.parametrize(
    ("url", "port", "encryption"),
    [
        ("smtp://mail.example", 25, ""),
        ("smtp://mail.example:2525", 2525, ""),
        ("smtp://mail.example:587?tls=1", 587, "TLS"),
        ("smtp://mail.example?tls=True", 587, "TLS"),
        ("smtp://mail.example:587?tls=0", 587, ""),
        ("smtp://mail.example:465?ssl=1", 465, "SSL"),
        ("smtp://mail.example:465", 465, "SSL"),
        ("smtp://mail.example:465?tls=1", 465, "SSL"),
        ("submission://mail.example", 587, "TLS"),
        ("smtp+tls://mail.example:587", 587, "TLS"),
        ("smtp+ssl://mail.example", 465, "SSL"),
        ("smtps://mail.example", 465, "SSL"),
        ("smtps://mail.example:587", 587, "TLS"),
        ("smtps://mail.example:2465", 2465, "SSL"),
    ],
)
def test_encryption_is_what_the_url_says(url: str, port: int, encryption: str) -> None:
    result = parse(url)

    assert (result["EMAIL_HOST"], result["EMAIL_PORT"]) == ("mail.example", port)
    assert [name for name in ("TLS", "SSL") if result[f"EMAIL_USE_{name}"]] == encryption.split()


def test_user_and_password_are_decoded() -> None:
    result = parse("smtp://me%40x.example:p%23a%2Fs+s%25$@mail.example:587?tls=1")

    assert result["EMAIL_HOST_USER"] == "me@x.example"
    assert result["EMAIL_HOST_PASSWORD"] == "p#a/s+s%$"


@pytest.mark.parametrize(
    "url",
    [
        "mail.example:25",
        "mail.example",
        "//mail.example",
        "smtp://",
        "smtp+starttls://me:hunter2@mail.example",
        "http://me:hunter2@mail.example",
        "smtp://me:hunter2#x@mail.example:25",
        "smtp://me:hunter2/x?y@mail.example:25",
        "smtp://me:hunter2@mail.example:587?starttls=1",
        "smtp://me:hunter2@mail.example:587?tls=perhaps",
        "smtp://me:hunter2@mail.example:smtp",
        "smtp://me:hunter2@mail.example:587/?tls=1#x",
    ],
)
def test_what_would_send_in_the_clear_is_refused_unquoted(url: str) -> None:
    with pytest.raises(ImproperlyConfigured) as caught:
        parse(url)

    assert str(caught.value).startswith("EMAIL_URL")
    assert "hunter2" not in str(caught.value)
