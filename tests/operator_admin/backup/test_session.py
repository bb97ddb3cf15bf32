from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from operator_admin.backup.postgres import patient_session

pytestmark = pytest.mark.django_db(transaction=True)


def timeout() -> tuple[str, bool]:
    """The limit of a statement, and whether the connection is of a pool."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SHOW statement_timeout")
            return str(cursor.fetchone()[0]), connection.pool is not None  # type: ignore[attr-defined]
    finally:
        connection.close()


def test_other_threads_keep_their_pool_and_limits() -> None:
    before = timeout()

    with patient_session(), ThreadPoolExecutor(1) as threads:
        assert threads.submit(timeout).result() == before
        assert timeout() == ("0", False)

    assert before != ("0", False)
    assert timeout() == before
