"""The Celery beat schedule. A late run expires, since the next one does its work.

Messages, webhooks and their deadlines do not depend on it: workers handle them in loops of their
own.
"""

from typing import Any


def _periodic_task(seconds: float, task: str, *, expires: int, **kwargs: Any) -> dict[str, Any]:
    entry = {"task": task, "schedule": float(seconds), "options": {"expires": expires}}
    return entry | ({"kwargs": kwargs} if kwargs else {})


SCHEDULE = {
    "write-heartbeat": _periodic_task(5, "channels.write_heartbeat", expires=5),
    "cancel-webhooks": _periodic_task(5, "webhooks.cancel_undeliverable", expires=5),
    "warn-of-failing-webhooks": _periodic_task(60, "webhooks.warn_of_failing", expires=50),
    "make-files": _periodic_task(3, "accounts.make_files", expires=5),
    "deliver-mail": _periodic_task(1, "accounts.deliver_mail", expires=5),
    "append-click-events": _periodic_task(1, "links.append_click_events", expires=5),
    "count-clicks": _periodic_task(1, "links.count_clicks", expires=5),
    "write-clicks-to-clickhouse": _periodic_task(
        10, "links.write_clicks_to_clickhouse", expires=10
    ),
    "maintain-clickhouse": _periodic_task(3600, "links.maintain_clickhouse", expires=600),
    "prove-clicks": _periodic_task(1, "links.prove_clicks", expires=5),
    "send-low-balance-alerts": _periodic_task(30, "billing.send_low_balance_alerts", expires=30),
    "seal-books": _periodic_task(600, "billing.seal_books", expires=600),
    "close-months": _periodic_task(600, "billing.close_months", expires=600),
    "issue-documents": _periodic_task(60, "billing.issue_documents", expires=60),
    "call-payment-providers": _periodic_task(5, "billing.call_payment_providers", expires=5),
    "top-up-automatically": _periodic_task(15, "billing.top_up_automatically", expires=15),
    "expire-orders": _periodic_task(60, "billing.expire_orders", expires=60),
    "count-days": _periodic_task(30, "channels.count_days", expires=30),
    "watch-deliveries": _periodic_task(600, "channels.watch_deliveries", expires=300),
    "check-recent-ledger": _periodic_task(60, "channels.check_ledger", expires=60, recent=True),
    "check-ledger": _periodic_task(21_600, "channels.check_ledger", expires=3600),
    "check-whole-ledger": _periodic_task(600, "channels.check_whole_ledger", expires=300),
    "count-guard-evidence": _periodic_task(2, "otp.count_guard_evidence", expires=4),
    "learn-routes": _periodic_task(30, "otp.learn_routes", expires=25),
    "make-guard-replays": _periodic_task(3, "otp.make_guard_replays", expires=5),
    "send-guard-reports": _periodic_task(300, "otp.send_guard_reports", expires=200),
    "refresh-budgets": _periodic_task(3600, "otp.refresh_budgets", expires=600),
    "send-budget-alerts": _periodic_task(30, "billing.send_budget_alerts", expires=30),
    "evaluate-alerts": _periodic_task(60, "operator_admin.evaluate_alerts", expires=50),
    "measure-api": _periodic_task(60, "operator_admin.measure_api", expires=50),
    "count-status-days": _periodic_task(600, "operator_admin.count_status_days", expires=300),
    "refresh-approvals": _periodic_task(3600, "channels.refresh_approvals", expires=600),
    "check-public-access": _periodic_task(
        900, "operator_admin.evaluate_outside_alerts", expires=600
    ),
    "delete-companies": _periodic_task(60, "persons.delete_companies", expires=50),
    "purge": _periodic_task(3600, "channels.purge", expires=600),
}
