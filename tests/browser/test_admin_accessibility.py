"""Every page of the admin: WCAG A and AA by axe, and no wider than the screen."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.contrib import admin
from django.db.models import Model
from django.test import RequestFactory
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from accounts.models import Company, User
from channels.models import VendorApproval
from operator_admin.incidents import timeline
from operator_admin.models import Incident
from tests.browser.admin_audit import faults_of
from tests.browser.operators import enter
from tests.browser.page_audit import THEMES, Theme
from tests.cabinet.pages import create_content
from tests.factories import CompanyFactory, UserFactory

pytestmark = pytest.mark.django_db(transaction=True)
OWN_PAGES = (
    "index",
    "providers",
    "queue",
    "system",
    "alerts",
    "persons",
    "attention",
    "incidents",
    "incident-new",
)


@pytest.fixture
def company(settings: Settings) -> Company:
    settings.OPERATOR_MFA = False
    company: Company = CompanyFactory.create(
        name="Ромашка", status="pending", closes_at=timezone.now() + timedelta(days=9)
    )
    create_content(company)
    user = UserFactory.create()
    said = {"ru": "Сбой", "en": "A failure"}
    timeline.open_incident(
        titles=said, text=said, impact="outage", channel="sms", user=user, ip=None
    )
    VendorApproval.objects.create(
        provider="twilio", kind="campaign", name="QE0", status="rejected", is_used=True
    )
    return company


def addresses(company: Company, user: User) -> Iterator[str]:
    yield from (reverse(f"admin:{name}") for name in OWN_PAGES)
    yield from (reverse("admin:vendor", args=[name]) for name in ("smsc", "twilio", "smpp"))
    yield reverse("admin:vendor-add", args=["twilio"])
    yield reverse("admin:trial", args=["twilio"])
    yield reverse("admin:channel", args=["sms"])
    yield reverse("admin:incident", args=[Incident.objects.get().pk])
    yield f"{reverse('admin:company-status', args=['approved'])}?ids={company.pk}"
    yield reverse("admin:company-deletion", args=[company.pk])
    yield f"{reverse('admin:billing_wallet_adjust')}?company={company.pk}"
    request = RequestFactory().get("/")
    request.user = user
    for model, options in admin.site._registry.items():
        if options.has_view_permission(request):
            yield from _of_model(model, can_add=options.has_add_permission(request))


def _of_model(model: type[Model], *, can_add: bool) -> Iterator[str]:
    name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
    yield reverse(f"{name}_changelist")
    if can_add:
        yield reverse(f"{name}_add")
    if row := model._default_manager.first():
        yield reverse(f"{name}_change", args=[row.pk])


@pytest.mark.long  # ten minutes of a core
@pytest.mark.timeout(900)
@pytest.mark.parametrize("theme", THEMES)
def test_admin_breaks_no_rule_and_fits_the_screen(
    page: Page, live_server: LiveServer, company: Company, theme: Theme
) -> None:
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    enter(page, live_server)
    user = User.objects.get(is_superuser=True)

    faults = [
        f"{path} {fault}"
        for path in addresses(company, user)
        for fault in faults_of(page, f"{live_server.url}{path}")
    ]

    assert faults == []
