"""E-mails are sent once without failures, and at least once with them."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from django.core import mail as django_mail
from django.core.mail import EmailMultiAlternatives
from django.db import connection
from django.test import override_settings
from django.utils import timezone

from accounts.models import Mail
from accounts.outbox import mail
from tests.api.races import at_once
from tests.loopback import server
from tests.ports import free_port

SMTP = "django.core.mail.backends.smtp.EmailBackend"


def post(to: str = "person@example.com", **parts: str) -> Mail:
    mail.append(**{"template": "t", "subject": "Hello", "text": "Token 42"} | parts, to=to)
    return Mail.objects.latest("created_at")


def make_due() -> None:
    Mail.objects.exclude(due_at=None).update(due_at=timezone.now() - timedelta(seconds=1))


@pytest.mark.django_db
def test_sent_email_loses_its_text() -> None:
    email = post(html="<p>Token 42</p>")

    assert (mail.deliver(), mail.deliver()) == (1, 0)

    (sent,) = django_mail.outbox
    assert isinstance(sent, EmailMultiAlternatives)
    assert (sent.to, sent.subject, sent.body) == (["person@example.com"], "Hello", "Token 42\n")
    assert sent.alternatives[0] == ("<p>Token 42</p>", "text/html")
    email.refresh_from_db()
    assert email.sent_at is not None
    assert (email.due_at, email.text, email.html) == (None, "", "")


@pytest.mark.django_db
def test_domain_of_an_address_is_encoded_by_uts_46() -> None:
    post("person@faß.de")

    mail.deliver()

    assert [sent.to for sent in django_mail.outbox] == [["person@xn--fa-hia.de"]]


@pytest.mark.django_db
def test_address_with_invalid_domain_is_given_up() -> None:
    email = post("person@אb.example")

    assert mail.deliver() == 0

    email.refresh_from_db()
    assert (email.due_at, email.sent_at) == (None, None)


@contextmanager
def mail_server(*replies: bytes) -> Iterator[int]:
    """A server with enough SMTP for an e-mail; `replies` go to the recipients."""
    left = list(replies)

    def handle(line: socket.socket) -> None:
        with line.makefile("rwb") as file:
            _converse(file, left.pop(0))

    with server(handle) as port:
        yield port


def _converse(file: object, reply: bytes) -> None:
    replies = {b"RCPT": reply, b"DATA": b"354 go on", b"QUIT": b"221 bye"}

    def say(words: bytes) -> None:
        file.write(words + b"\r\n")  # type: ignore[attr-defined]
        file.flush()  # type: ignore[attr-defined]

    say(b"220 hello")
    in_email = False
    for raw in file:  # type: ignore[attr-defined]
        if in_email:
            in_email = raw.strip() != b"."
            if in_email:
                continue
            say(b"250 taken")
            continue
        verb = raw[:4].upper()
        in_email = verb == b"DATA"
        say(replies.get(verb, b"250 ok"))


@pytest.mark.django_db
def test_busy_server_is_tried_again_later() -> None:
    email = post()
    with mail_server(b"451 busy", b"250 ok") as port, smtp(port):
        first = mail.deliver()
        email.refresh_from_db()
        error = email.error
        left = email.text
        wait = email.due_at - timezone.now() if email.due_at else None
        make_due()
        second = mail.deliver()

    email.refresh_from_db()
    assert (first, second) == (0, 1)
    assert error.startswith("SMTP")
    assert left == "Token 42\n"
    assert wait is not None
    assert timedelta(seconds=2) < wait < timedelta(seconds=16)
    assert (email.tries, email.error, email.text) == (2, "", "")


def smtp(port: int) -> override_settings:
    return override_settings(EMAIL_BACKEND=SMTP, EMAIL_HOST="127.0.0.1", EMAIL_PORT=port)


@pytest.mark.django_db
def test_unreachable_server_is_retried_for_a_day() -> None:
    email = post()

    with smtp(free_port()):
        for _ in range(len(mail.DELAYS) + 1):
            make_due()
            mail.deliver()
    make_due()

    email.refresh_from_db()
    assert email.tries == 8
    assert (email.due_at, email.sent_at, email.text) == (None, None, "")
    assert "ConnectionRefusedError" in email.error
    assert sum(mail.DELAYS) > 12 * 3600


@pytest.mark.django_db
def test_unreachable_server_is_tried_once_per_run() -> None:
    post("one@example.com")
    post("two@example.com")

    with smtp(free_port()):
        mail.deliver()

    assert sorted(Mail.objects.values_list("tries", flat=True)) == [0, 1]


@pytest.mark.django_db
def test_refused_recipient_does_not_block_other_emails() -> None:
    refused = post("nobody@example.com")
    taken = post("person@example.com")

    with mail_server(b"550 no such person", b"250 ok") as port, smtp(port):
        mail.deliver()

    refused.refresh_from_db()
    taken.refresh_from_db()
    assert (refused.due_at, refused.sent_at) == (None, None)
    assert taken.sent_at is not None


@pytest.mark.django_db(transaction=True)
def test_parallel_workers_send_each_email_once() -> None:
    for n in range(30):
        post(f"person{n}@example.com")

    at_once([mail._deliver] * 4)  # four processes: within one, only one delivers
    while mail.deliver():
        pass

    assert len(django_mail.outbox) == 30
    assert len({email.to[0] for email in django_mail.outbox}) == 30


@pytest.mark.django_db
def test_claim_takes_one_email_under_any_query_plan() -> None:
    """The planner prefers a nested loop while the table is nearly empty."""
    for n in range(3):
        post(f"person{n}@example.com")
    with connection.cursor() as cursor:
        for way in ("hashjoin", "mergejoin", "hashagg", "sort", "material"):
            cursor.execute(f"SET LOCAL enable_{way} = off")

    mail._claim()

    assert sorted(Mail.objects.values_list("tries", flat=True)) == [0, 0, 1]


@pytest.mark.django_db
def test_one_thread_of_a_worker_delivers_at_a_time() -> None:
    post()

    with mail._one_run:
        meanwhile = mail.deliver()

    assert (meanwhile, mail.deliver()) == (0, 1)


@pytest.mark.django_db
def test_claimed_email_of_a_dead_worker_is_sent_after_its_lease() -> None:
    email = post()
    Mail.objects.filter(pk=email.pk).update(tries=1, due_at=timezone.now() + timedelta(seconds=60))

    early = mail.deliver()
    make_due()

    assert (early, mail.deliver()) == (0, 1)
