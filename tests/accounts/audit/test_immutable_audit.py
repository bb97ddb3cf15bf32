"""The database refuses to change audit events, and deleting other rows leaves them alone."""

import pytest
from django.db import IntegrityError, connection, transaction

from accounts.audit.events import record
from accounts.models import AuditEvent, Company, User
from tests.factories import CompanyFactory, UserFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def event() -> AuditEvent:
    user = UserFactory.create(email="anna@example.com")
    return record("settings.changed", "brand", company=CompanyFactory.create(), user=user)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE accounts_auditevent SET subject = 'nothing'",
        "DELETE FROM accounts_auditevent",
        "TRUNCATE accounts_auditevent",
        "TRUNCATE accounts_auditevent, accounts_company CASCADE",
    ],
)
def test_audit_events_are_immutable(event: AuditEvent, statement: str) -> None:
    with (
        transaction.atomic(),
        connection.cursor() as cursor,
        pytest.raises(IntegrityError, match="immutable"),
        transaction.atomic(),
    ):
        cursor.execute(statement)

    event.refresh_from_db()
    assert event.subject == "brand"


def test_audit_outlives_the_user_and_names_them(event: AuditEvent) -> None:
    user_id = event.user_id
    User.objects.get(email="anna@example.com").delete()

    kept = AuditEvent.objects.select_related("user").get()

    assert (kept.user_id, kept.user, kept.actor) == (user_id, None, "anna@example.com")


def test_audit_outlives_the_company(event: AuditEvent) -> None:
    Company.objects.all().delete()

    assert AuditEvent.objects.get().company_id == event.company_id
