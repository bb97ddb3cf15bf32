"""Vendors' approvals of templates and senders: kept, forgotten, unchanged by a silent vendor."""

import re
from datetime import timedelta
from typing import Any

import pytest
import responses
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from channels.models import VendorApproval
from channels.tasks import refresh_approvals
from channels.vendor_accounts import approvals
from operator_admin.doctor import vendors
from tests.channels.accounts import set_account
from tests.operator_admin.operators import make_operator, sign_in

pytestmark = pytest.mark.django_db
TEMPLATES = re.compile(r".*/message_templates\?.*")


@pytest.fixture(autouse=True)
def waba(settings: Settings) -> None:
    set_account(
        settings,
        "whatsapp_cloud",
        {"business_account_id": "102290129340398", "code_template": "verification_code"},
    )


def template(name: str = "verification_code", language: str = "ru", **fields: Any) -> Any:
    row = {"name": name, "language": language, "status": "APPROVED", "id": "594425479261596"}
    return row | {"quality_score": {"score": "GREEN"}, "rejected_reason": "NONE"} | fields


def look(wire: responses.RequestsMock, *rows: Any, status: int = 200) -> approvals.ReadResult:
    wire.upsert("GET", TEMPLATES, json={"data": rows}, status=status)
    return approvals.refresh(["whatsapp_cloud"])["whatsapp_cloud"]


def stored_approval(name: str = "verification_code") -> VendorApproval:
    return VendorApproval.objects.get(name=name, language="ru")


def test_template_is_kept_with_its_quality(wire: responses.RequestsMock) -> None:
    look(wire, template(quality_score={"score": "YELLOW"}))

    approval = stored_approval()
    assert (approval.status, approval.quality, approval.vendor_status, approval.is_used) == (
        "approved",
        "YELLOW",
        "APPROVED",
        True,
    )


@pytest.mark.parametrize(
    ("word", "status"),
    [
        ("PENDING", "pending"),
        ("REJECTED", "rejected"),
        ("PAUSED", "paused"),
        ("SOMETHING_NEW", "pending"),
    ],
)
def test_metas_words_are_translated(wire: responses.RequestsMock, word: str, status: str) -> None:
    look(wire, template(status=word))

    assert (stored_approval().status, stored_approval().vendor_status) == (status, word)


def test_time_of_a_change_is_kept(wire: responses.RequestsMock) -> None:
    look(wire, template())
    earlier = timezone.now() - timedelta(days=3)
    VendorApproval.objects.update(changed_at=earlier, seen_at=earlier)

    look(wire, template())
    assert stored_approval().changed_at == earlier
    assert stored_approval().seen_at > earlier
    look(wire, template(status="PAUSED"))

    assert stored_approval().changed_at > earlier


def test_template_that_is_gone_is_missing_if_it_is_used(wire: responses.RequestsMock) -> None:
    look(wire, template(), template("old"))
    look(wire)

    assert stored_approval().status == "missing"
    assert not VendorApproval.objects.filter(name="old").exists()


def test_silent_vendor_changes_nothing(wire: responses.RequestsMock) -> None:
    look(wire, template())

    response = look(wire, status=500)

    assert response.error
    assert stored_approval().status == "approved"


def test_further_pages_are_read(wire: responses.RequestsMock) -> None:
    paging = {"cursors": {"after": "QVFI"}, "next": "https://graph.facebook.com/next"}
    wire.get(TEMPLATES, json={"data": [template("first")], "paging": paging})
    wire.get(re.compile(r".*&after=QVFI"), json={"data": [template()]})

    approvals.refresh(["whatsapp_cloud"])

    assert {approval.name for approval in VendorApproval.objects.filter(status="approved")} == {
        "first",
        "verification_code",
    }


def test_doctor_names_what_is_out_of_use(wire: responses.RequestsMock) -> None:
    look(wire, template(status="REJECTED", rejected_reason="TAG_CONTENT_MISMATCH"))

    result = [
        approval
        for approval in vendors.vendor_approvals()
        if "verification_code ru" in approval.detail
    ]

    assert [check.ok for check in result] == [False]
    assert "TAG_CONTENT_MISMATCH" in result[0].detail


def test_operator_refreshes_the_approvals_of_a_vendor(
    wire: responses.RequestsMock, client: Client
) -> None:
    sign_in(client, make_operator(), "password", "mfa")
    wire.get(TEMPLATES, json={"data": [template(status="PAUSED")]})

    response = client.post(reverse("admin:vendor-approvals", args=["whatsapp_cloud"]), follow=True)

    page = response.content.decode()
    assert "Список провайдера обновлён" in page
    assert "PAUSED" in page
    assert client.post(reverse("admin:vendor-approvals", args=["nobody"])).status_code == 404
    assert client.get(reverse("admin:vendor-approvals", args=["smsc"])).status_code == 405


def test_task_asks_every_vendor(wire: responses.RequestsMock) -> None:
    wire.get(TEMPLATES, json={"data": [template()]})

    refresh_approvals()

    assert stored_approval().status == "approved"
