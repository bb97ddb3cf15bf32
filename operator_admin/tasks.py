"""Periodic tasks."""

from celery import shared_task

from operator_admin.alerts import evaluation, notifications
from operator_admin.alerts.rules import Group
from operator_admin.status import summary


@shared_task(name="operator_admin.evaluate_alerts")
def evaluate_alerts() -> None:
    evaluation.run(Group.MINUTE)
    notifications.deliver_telegram()


@shared_task(name="operator_admin.evaluate_outside_alerts")
def evaluate_outside_alerts() -> None:
    evaluation.run(Group.OUTSIDE)
    notifications.deliver_telegram()


@shared_task(name="operator_admin.count_status_days")
def count_status_days() -> None:
    summary.count_days()


@shared_task(name="operator_admin.measure_api")
def measure_api() -> None:
    summary.measure_api()
