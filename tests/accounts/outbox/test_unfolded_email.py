"""The headers of an e-mail on the wire."""

import email
from email import policy

import pytest
from django.core.mail import get_connection

from accounts.outbox.unfolded_email import UnfoldedEmail

ADDRESS = (
    "<https://codes.company.example/cabinet/letters/unsubscribe/WzEsImRvY3VtZW50cyJd:1xXsmD:r-J0>"
)
SUBJECTS = [
    "Kvitok: счёт-фактура на аванс «Демо»",
    "Приглашение в компанию «Очень длинное название общества» 🎉 " * 4,
    "Ж" * 255,
    "Your invoice for the month that ended yesterday is ready to be paid " * 3,
    "Hello",
]


@pytest.mark.parametrize("subject", [subject.strip() for subject in SUBJECTS])
def test_headers_begin_on_the_line_of_their_names(subject: str) -> None:
    letter = UnfoldedEmail(subject, "text", to=["person@example.com"], connection=get_connection())
    letter.extra_headers |= {
        "Message-ID": f"<01a22aa8-f63b-778a-9d1c-236f1faa3c56@{'sub.' * 12}company.example>",
        "List-Unsubscribe": ADDRESS,
    }

    raw = letter.message().as_bytes(linesep="\r\n")

    head = raw.partition(b"\r\n\r\n")[0].split(b"\r\n")
    assert [line for line in head if line.endswith((b":", b" "))] == []
    assert [line for line in head if b"=?" in line and len(line) > 76] == []
    assert f"List-Unsubscribe: {ADDRESS}".encode() in head
    assert email.message_from_bytes(raw, policy=policy.SMTP)["Subject"] == subject
