"""Periodic tasks."""

from celery import shared_task

from accounts.jobs import RoundRobin
from otp.protection import guard_evidence, week_replay, week_reports
from otp.statistics import route_learning, savings_count, usual_spending

REPLAYS = RoundRobin(week_replay.make_next)


@shared_task(name="otp.refresh_budgets")
def refresh_budgets() -> None:
    usual_spending.refresh()


@shared_task(name="otp.count_guard_evidence")
def count_guard_evidence() -> None:
    guard_evidence.count()


@shared_task(name="otp.make_guard_replays")
def make_guard_replays() -> None:
    REPLAYS.run()


@shared_task(name="otp.send_guard_reports")
def send_guard_reports() -> None:
    week_reports.run()


@shared_task(name="otp.learn_routes")
def learn_routes() -> None:
    route_learning.learn()
    savings_count.count()
