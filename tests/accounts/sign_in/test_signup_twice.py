"""A double click on "Sign up" creates one account and shows no error."""

from threading import Barrier, Thread

import pytest
from django.db import connection
from django.db.models.signals import pre_save
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from accounts.models import Company, Mail, User

CLICKS = 3
FORM = {
    "email": "new@example.com",
    "company": "Demo",
    "country": "RU",
    "password1": "plum Tractor 81 seven",
}


@pytest.mark.django_db(transaction=True)
def test_parallel_sign_ups_create_one_account_without_errors(settings: Settings) -> None:
    settings.ACCOUNT_EMAIL_VERIFICATION = "mandatory"
    judged, answers = Barrier(CLICKS), list[tuple[int, str]]()

    def wait(**_rest: object) -> None:
        judged.wait(30)  # until each form was found valid, and none is saved

    pre_save.connect(wait, sender=User)
    threads = [Thread(target=click, args=(answers,)) for _ in range(CLICKS)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        pre_save.disconnect(wait, sender=User)

    assert answers == [(302, reverse("account_email_verification_sent"))] * CLICKS
    assert (User.objects.count(), Company.objects.count()) == (1, 1)
    assert Mail.objects.get().template == "account/email/email_confirmation_signup"


def click(answers: list[tuple[int, str]]) -> None:
    client = Client(raise_request_exception=False)
    try:
        answer = client.post(reverse("account_signup"), FORM)
        answers.append((answer.status_code, answer.headers.get("Location", "")))
    finally:
        connection.close()
