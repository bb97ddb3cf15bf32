"""Watching companies hear once a week what the guard would have done, while there is something."""

from datetime import timedelta
from functools import partial

import pytest
from django.conf import settings
from django.urls import reverse
from django.utils import timezone

from accounts.models import Company, GuardMode, Mail, Member, User
from accounts.outbox import mail
from otp.models import GuardReplay, GuardReport
from otp.protection import restrictions, week_replay, week_reports
from otp.protection.week_replay import WeekFigures
from tests.api.races import at_once
from tests.factories import CompanyFactory, MemberFactory
from tests.otp.protection.sends import sent

pytestmark = pytest.mark.django_db
DAY = 86_400.0
NEARLY_A_WEEK = timedelta(days=6, hours=23)


@pytest.fixture
def watching(company: Company) -> Company:
    """A company that monitors only; its week is over and nobody has been notified."""
    company.guard_mode = GuardMode.WATCH
    company.save(update_fields=["guard_mode"])
    MemberFactory.create(company=company, user__email="owner@example.com", user__language="en")
    GuardReport.objects.create(company=company, due_at=timezone.now())
    return company


def people(company: Company, codes: int = 30) -> None:
    for n in range(codes):
        sent(company, ago=5 * DAY - 60 * n, phone=f"+7916{n * 7919:07}", entered_after=9.0)


def attack(company: Company, codes: int = 60) -> None:
    """An attack; two codes are entered after the range was refused."""
    for n in range(codes):
        entered = 9.0 if n in {codes - 2, codes - 1} else None
        sent(company, ago=2 * DAY - 10 * n, phone=f"+252617654{n:03}", entered_after=entered)


def slow_attack(company: Company) -> None:
    """Whose codes are mature before the next one is sent, so that it ends at the proof of work."""
    for n in range(16):
        sent(company, ago=3 * DAY - 40 * n, phone=f"+99361765{n:03}")


def make_due(by: timedelta = week_reports.WEEK) -> None:
    """Moves the week into the past."""
    for report in GuardReport.objects.all():
        report.due_at -= by
        report.save(update_fields=["due_at"])


def emails() -> list[Mail]:
    return list(Mail.objects.filter(template="guard_week").order_by("created_at"))


def due_in() -> timedelta:
    return GuardReport.objects.get().due_at - timezone.now()


def test_week_report_has_the_figures_of_the_replay(watching: Company) -> None:
    people(watching)
    attack(watching)
    slow_attack(watching)

    week_reports.run()

    replay = GuardReplay.objects.get(company=watching)
    assert (replay.codes, replay.refused, replay.challenged, replay.cheap_only) == (106, 42, 3, 6)
    assert (replay.entered, replay.tokens) == (2, 16 * 43)
    assert (replay.is_finished, replay.is_failed) == (True, False)
    (email,) = emails()
    day = f"{timezone.localtime(replay.since):%-d %B}"
    assert email.subject == (f"Kvitok: {watching.name}: weekly SMS pumping report")
    assert f"Of 106 codes since {day}, it would have:\n– refused 42 sends\n" in email.text
    assert "\n– asked for a proof of work for 3 sends\n– sent 6 codes without SMS" in email.text
    assert "It would have saved 688 tokens" in email.text
    assert "2 codes were entered later" in email.text
    assert f"{settings.PUBLIC_URL}{reverse('protection')}\n" in email.text
    assert "<li>refused 42 sends</li>" in email.html


def test_week_report_is_sent_once_a_week(watching: Company) -> None:
    attack(watching)

    week_reports.run()
    week_reports.run()
    make_due(NEARLY_A_WEEK)
    week_reports.run()
    assert len(emails()) == 1

    make_due(week_reports.WEEK - NEARLY_A_WEEK)
    week_reports.run()
    assert len(emails()) == 2


def test_report_without_findings_is_sent_once(watching: Company) -> None:
    people(watching)

    week_reports.run()
    make_due()
    week_reports.run()

    (email,) = emails()
    assert "It would have let all 30 codes since" in email.text
    assert "You get this e-mail once." in email.text

    attack(watching)
    make_due()
    week_reports.run()
    assert "refused 44 sends" in emails()[-1].text


def test_company_without_sends_gets_no_report(watching: Company) -> None:
    week_reports.run()

    assert emails() == []
    assert GuardReport.objects.get().reported_at is None
    assert due_in() > NEARLY_A_WEEK


def test_companies_older_than_guard_get_first_week_report(company: Company) -> None:
    Company.objects.update(guard_mode=GuardMode.WATCH)
    CompanyFactory.create(guard_mode=GuardMode.ENFORCE)
    CompanyFactory.create(guard_mode=GuardMode.OFF)
    CompanyFactory.create(guard_mode=GuardMode.WATCH, deleted_at=timezone.now())
    attack(company)

    week_reports.run()
    week_reports.run()

    assert GuardReport.objects.get().company == company
    assert NEARLY_A_WEEK < due_in() <= week_reports.WEEK
    assert emails() == []


@pytest.mark.parametrize("mode", [GuardMode.ENFORCE, GuardMode.OFF])
def test_company_that_is_not_watching_gets_no_report(watching: Company, mode: GuardMode) -> None:
    attack(watching)
    Company.objects.update(guard_mode=mode)

    week_reports.run()

    assert emails() == []
    assert not GuardReplay.objects.exists()


def test_week_begins_with_the_mode(company: Company, owner: Member) -> None:
    change = partial(restrictions.set_mode, company=company, user=owner.user)
    change(mode=GuardMode.WATCH)
    assert NEARLY_A_WEEK < due_in() <= week_reports.WEEK

    make_due()
    change(mode=GuardMode.ENFORCE)
    assert not GuardReport.objects.exists()

    change(mode=GuardMode.WATCH)
    assert due_in() > NEARLY_A_WEEK


def test_mode_that_changes_meanwhile_is_obeyed(
    watching: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    attack(watching)
    figures = week_replay.figures

    def and_switched_on(*args: object) -> WeekFigures:
        user = User.objects.get(email="owner@example.com")
        restrictions.set_mode(company=watching, mode=GuardMode.ENFORCE, user=user)
        return figures(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(week_replay, "figures", and_switched_on)
    week_reports.run()

    assert emails() == []
    assert not GuardReport.objects.exists()


def test_emails_of_dead_worker_are_sent_by_another(
    watching: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    attack(watching)

    def die(**_fields: object) -> None:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(mail, "append", die)
        with pytest.raises(SystemExit):
            week_reports.run()
    week_reports.run()
    assert emails() == []
    assert due_in() <= week_reports.RETRY

    make_due(week_reports.RETRY)
    week_reports.run()
    assert len(emails()) == 1


def test_slow_worker_sends_no_event_twice(watching: Company) -> None:
    attack(watching)
    slow = week_reports._claim()
    assert slow is not None
    make_due(week_reports.RETRY)
    week_reports.run()

    week_reports._finish(slow, week_replay.figures(watching.pk, timezone.now()))

    assert len(emails()) == 1
    assert due_in() > NEARLY_A_WEEK


def test_fault_of_one_company_does_not_block_others(
    watching: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = CompanyFactory.create(guard_mode=GuardMode.WATCH)
    MemberFactory.create(company=other, user__email="other@example.com")
    GuardReport.objects.create(company=other, due_at=timezone.now())
    attack(watching)
    attack(other)
    figures = week_replay.figures

    def fail_for_one(company_id: int, *args: object) -> WeekFigures:
        if company_id == watching.pk:
            raise ValueError
        return figures(company_id, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(week_replay, "figures", fail_for_one)
    week_reports.run()

    assert [email.to for email in emails()] == ["other@example.com"]
    assert GuardReport.objects.get(company=watching).due_at > timezone.now()


@pytest.mark.django_db(transaction=True)
def test_parallel_workers_send_one_week_report(watching: Company) -> None:
    attack(watching)

    at_once([week_reports.run, week_reports.run])

    assert len(emails()) == 1
    assert due_in() > NEARLY_A_WEEK


def test_email_goes_to_those_who_want_it(watching: Company) -> None:
    for role in (Member.Role.DEVELOPER, Member.Role.ACCOUNTANT):
        MemberFactory.create(company=watching, role=role, user__email=f"{role}@example.com")
    muted = MemberFactory.create(company=watching).user
    User.objects.filter(pk=muted.pk).update(muted_notices=["protection"])
    attack(watching)

    week_reports.run()

    assert sorted(email.to for email in emails()) == [
        "developer@example.com",
        "owner@example.com",
    ]
    assert all("/unsubscribe/" in email.unsubscribe_url for email in emails())
