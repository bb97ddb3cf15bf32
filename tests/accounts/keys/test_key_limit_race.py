from threading import Barrier, Thread

import pytest
from django.core.exceptions import ValidationError
from django.db import connection

from accounts.models import Company, User
from accounts.people import companies
from tests.factories import ApiKeyFactory, CompanyFactory, UserFactory

THREADS = 6


@pytest.mark.django_db(transaction=True)
def test_parallel_requests_cannot_exceed_the_key_limit() -> None:
    company, user = CompanyFactory.create(), UserFactory.create()
    ApiKeyFactory.create_batch(companies.MAX_ACTIVE_KEYS - 1, company=company)
    start, outcomes = Barrier(THREADS), list[str]()

    threads = [
        Thread(target=try_to_create, args=(company, user, start, outcomes)) for _ in range(THREADS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(outcomes) == ["created"] + ["refused"] * (THREADS - 1)
    assert company.api_keys.active().count() == companies.MAX_ACTIVE_KEYS


def try_to_create(company: Company, user: User, start: Barrier, outcomes: list[str]) -> None:
    try:
        connection.ensure_connection()  # opening one takes longer than what is raced for
        start.wait(60)
        companies.create_api_key(company=company, user=user, mode="test", name="Racer")
        outcomes.append("created")
    except ValidationError:
        outcomes.append("refused")
    finally:
        connection.close()
