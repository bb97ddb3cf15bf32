"""Endpoints, links, codes and protection, and what becomes of whole companies."""

from datetime import datetime, timedelta

from django.utils import timezone

from accounts.models import Company, GuardMode, Mail
from accounts.people import planned_deletion
from billing.models import SpentDay
from channels.models import RouteDay, RouterState
from links import link_imports
from links.models import Link, LinkImport
from otp.models import GuardEvidence, GuardProgress, GuardReplay, GuardReport, GuardRestriction
from otp.protection import guard_evidence, restrictions, week_replay, week_reports
from otp.statistics import savings_count, usual_spending
from persons import company_deletion, company_export
from persons.models import CompanyExport
from tests.config.job_trials.trial import Trial, ago, owner_of, wallet_of
from tests.factories import EndpointFactory
from tests.otp.protection.sends import sent
from tests.otp.statistics.test_usual_spending import spent
from tests.otp.tried import tried
from webhooks import endpoints
from webhooks.models import Endpoint


def _failing_endpoint(company: Company) -> None:
    owner_of(company)
    EndpointFactory.create(company=company, failing_since=ago(hours=2))


def _import(company: Company) -> None:
    member = owner_of(company)
    link_import = link_imports.upload(
        company=company, user=member.user, mode="live", name="l.csv", content=b"https://example.com"
    )
    link_imports.start(link_import=link_import, user=member.user, ip=None)


def _guarded(company: Company) -> None:
    GuardProgress.objects.all().delete()
    GuardProgress.objects.create(pk=1, counted_until=ago(seconds=300))
    for n in range(20):
        sent(company, ago=200 - n, phone=f"+2526176{company.pk % 10}4{n:03}")


def _in_a_day() -> datetime:
    return timezone.now() + timedelta(days=1)


def _make_reports_due() -> None:
    GuardReport.objects.filter(due_at__lt=_in_a_day()).update(due_at=ago(minutes=1))


def _report(company: Company) -> None:
    Company.objects.filter(pk=company.pk).update(guard_mode=GuardMode.WATCH)
    GuardReport.objects.create(company=company, due_at=ago(minutes=1))


def _tried(company: Company) -> None:
    past = ago(hours=1)
    RouterState.objects.update_or_create(
        pk=RouterState.ONLY, defaults={"learned_until": past, "counted_until": past}
    )
    way = {"channel": "telegram", "delivered": 3.0}
    tried(company, way, route={"arm": "smart"}, phone=_phone(company), ago=1800.0)


def _phone(company: Company) -> str:
    return f"+7916123{company.pk % 10_000:04}"


def _closing_soon(company: Company) -> None:
    owner_of(company)
    Company.objects.filter(pk=company.pk).update(closes_at=timezone.now() + timedelta(days=5))


def _to_delete(company: Company) -> None:
    wallet_of(company)
    Company.objects.filter(pk=company.pk).update(closes_at=ago(minutes=1))


def _to_erase(company: Company) -> None:
    LinkImport.objects.create(company=company, mode="live", file_name="l.csv", total=1)
    Company.objects.filter(pk=company.pk).update(closes_at=ago(hours=1), deleted_at=ago(hours=1))


TRIALS = (
    Trial(
        "webhooks.warn_of_failing",
        endpoints.JOB.name,
        _failing_endpoint,
        lambda company: Endpoint.objects.filter(company=company, warned_at__isnull=False).exists(),
        "webhooks_endpoint",
    ),
    Trial(
        "accounts.make_files",
        link_imports.JOB.name,
        _import,
        lambda company: Link.objects.filter(company=company).exists(),
        "links_link",
    ),
    Trial(
        "otp.count_guard_evidence",
        guard_evidence.JOB.name,
        _guarded,
        lambda company: GuardEvidence.objects.filter(company=company).exists(),
        "otp_guardevidence",
        is_stream=True,
    ),
    Trial(
        "otp.count_guard_evidence",
        restrictions.JOB.name,
        _guarded,
        lambda company: GuardRestriction.objects.filter(company=company).exists(),
        "otp_guardrestriction",
        is_stream=True,
    ),
    Trial(
        "otp.make_guard_replays",
        week_replay.JOB.name,
        week_replay.request_replay,
        lambda company: GuardReplay.objects.filter(
            company=company, finished_at__isnull=False
        ).exists(),
        "otp_guardreplay",
        "NEW.company_id = {company} AND NEW.finished_at IS NOT NULL AND NOT NEW.is_failed",
        age=lambda: GuardReplay.objects.update(started_at=ago(hours=1)),
    ),
    Trial(
        "otp.send_guard_reports",
        week_reports.JOB.name,
        _report,
        lambda company: GuardReport.objects.filter(
            company=company, due_at__gt=_in_a_day()
        ).exists(),
        "otp_guardreport",
        "NEW.company_id = {company} AND NEW.due_at > now() + interval '1 day'",
        age=_make_reports_due,
    ),
    Trial(
        "otp.refresh_budgets",
        usual_spending.JOB.name,
        lambda company: spent(company, 5),
        lambda company: SpentDay.objects.filter(company=company).exists(),
        "billing_spentday",
        is_stream=True,
    ),
    Trial(
        "otp.learn_routes",
        savings_count.JOB.name,
        _tried,
        lambda company: RouteDay.objects.filter(company=company).exists(),
        "channels_routeday",
        is_stream=True,
    ),
    Trial(
        "accounts.make_files",
        company_export.JOB.name,
        lambda company: company_export.start(member=owner_of(company), language="ru", ip=None),
        lambda company: CompanyExport.objects.filter(company=company, state="ready").exists(),
        "persons_companyexportpart",
        "NEW.export_id IN (SELECT id FROM persons_companyexport WHERE company_id = {company})",
    ),
    Trial(
        "persons.delete_companies",
        planned_deletion.JOB.name,
        _closing_soon,
        lambda company: Mail.objects.filter(key__startswith=f"closes:{company.pk}:").exists(),
        "accounts_mail",
        "NEW.key LIKE 'closes:{company}:%'",
    ),
    Trial(
        "persons.delete_companies",
        company_deletion.DELETIONS.name,
        _to_delete,
        lambda company: Company.objects.filter(pk=company.pk, deleted_at__isnull=False).exists(),
        "accounts_company",
        "NEW.id = {company}",
    ),
    Trial(
        "persons.delete_companies",
        company_deletion.ERASURES.name,
        _to_erase,
        lambda company: Company.objects.filter(pk=company.pk, erased_at__isnull=False).exists(),
        "accounts_company",
        "NEW.id = {company}",
    ),
)
