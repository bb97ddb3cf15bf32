"""Each `.sql` file is a statement that PostgreSQL can plan, however its placeholders are filled."""

import re
import sys
from collections.abc import Mapping
from dataclasses import asdict
from itertools import product

import pytest
from django.db import connection

from accounts.keys import api_keys, key_cache
from api import idempotency, request_log
from billing.budgets import budgets, key_limits
from billing.documents import month_closing
from billing.orders import polling
from billing.seals import hashes, proof, sealing
from billing.wallet import archived, ledger, period_totals, statement
from channels import full_reconciliation, reconciliation
from channels import sql as channels_sql
from channels.accept import send_limits
from channels.deliver import claims, fair_queueing, heartbeats, sweeps
from channels.history import day_counts, drop_watch, figures, retention
from channels.outcomes import (
    decision_writer,
    due_receipts,
    inbound_receipts,
    sms_parts,
    transitions,
    unchanged_messages,
)
from channels.recipients import contacts, vendor_user_ids
from channels.reconciliation import CHECKS
from channels.vendor_accounts import approvals, availability, circuit_breaker, vendor_alerts
from links import sql as links_sql
from links.clicks import bot_detection, counting, delivery_proof
from links.clicks import statistics as click_statistics
from links.clicks import webhooks as click_webhooks
from links.follow import cached_row, one_time_links
from links.make import retired_aliases, reuse
from links.manage import changes
from operator_admin import archive_dumps, attention, database_role
from operator_admin import figures as operator_figures
from operator_admin.alerts import evaluation
from operator_admin.incidents import impact, notices
from operator_admin.status import summary
from otp import history, sql
from otp.check import check, entered_codes, settlement
from otp.protection import code_outcomes, known_phones
from otp.send import custom_code, tried_channels
from otp.statistics import route_learning, savings_count, usual_spending
from otp.texts import own_texts
from persons import erasure_list
from persons import sql as person_sql
from storage import postgres_limits
from storage.months import new_tables, partitions
from storage.schema_changes import operations, runs
from storage.statements.single_statement import _number_parameters
from storage.statements.sql_files import fill
from tests.packages import PACKAGES, ROOT
from tests.storage.installed_sql import installed
from webhooks import dispatcher as webhook_dispatcher
from webhooks import events as webhook_events

pytestmark = pytest.mark.django_db
_BOTH = (False, True)
# And whatever begins with no verb.
FRAGMENTS = {"insert_with_effect", "settle_verified", "stale_days", "verified_event"}


def whole(texts: Mapping[str, str]) -> list[str]:
    """The statements of a file without its fragments."""
    return [
        text
        for name, text in texts.items()
        if name not in FRAGMENTS and re.match("SELECT|INSERT|UPDATE|WITH|DELETE", text)
    ]


STATEMENTS = {
    "billing/wallet/capture.sql": [ledger._CAPTURE],
    "billing/wallet/hold_wallet.sql": [sql.send(is_test=False, has_link=False, has_key=False)],
    "billing/wallet/hold_wallets.sql": [sql.SEND_OF_ONE_COMPANY],
    "billing/wallet/holds.sql": [sql.SEND_OF_SEVERAL_COMPANIES],
    "billing/wallet/move_holds.sql": [ledger._MOVE_HOLDS],
    "billing/wallet/release.sql": [ledger._RELEASE],
    "billing/wallet/settle.sql": [ledger._CAPTURE, ledger._RELEASE],
    "channels/deliver/claim.sql": [claims.CLAIM, claims.CLAIM_COUNTED],
    "channels/outcomes/accept_unchanged.sql": [unchanged_messages._ACCEPT_UNCHANGED],
    "channels/outcomes/deliver_unchanged.sql": [unchanged_messages._DELIVER_UNCHANGED],
    "channels/outcomes/due_receipts.sql": whole(due_receipts._SQL),
    "channels/outcomes/proved_attempt.sql": [transitions._PROVED_ATTEMPT],
    "channels/outcomes/store_receipts.sql": [
        inbound_receipts.store_statement(has_recipients=has_recipients, skips_known=skips_known)
        for has_recipients, skips_known in product(_BOTH, _BOTH)
    ],
    "channels/outcomes/update_attempts.sql": [decision_writer._UPDATE_ATTEMPTS],
    "channels/outcomes/update_messages.sql": [decision_writer._UPDATE_MESSAGES],
    "links/clicks/count.sql": [counting.COUNT],
    "links/clicks/first_clicks.sql": [delivery_proof._FIRST_CLICKS],
    "links/make/retire_alias.sql": [retired_aliases._RETIRE_ALIAS],
    "links/make/send.sql": [
        links_sql.send(is_test=is_test, has_key=has_key)
        for is_test, has_key in product(_BOTH, _BOTH)
    ],
    "channels/messages.sql": whole(channels_sql.MESSAGES),
    "webhooks/append.sql": [webhook_events._APPEND_ONE, channels_sql.APPEND_MESSAGE_EVENTS],
    "billing/budgets/budgets.sql": whole(budgets._SQL),
    "billing/documents/month_closing.sql": whole(month_closing._SQL),
    "billing/seals/sealing.sql": whole(sealing._SQL),
    "billing/wallet/period_totals.sql": whole(period_totals._SQL),
    "channels/accept/send_limits.sql": whole(send_limits._SQL),
    "channels/deliver/account_limits.sql": [claims.CLAIM_COUNTED],
    "channels/balances.sql": [CHECKS[reconciliation.BALANCE_DIFFERS]],
    "channels/outcomes/sms_parts.sql": whole(sms_parts._SQL),
    "channels/reconciliation.sql": [
        query.format(**asdict(reconciliation.ALL)) for query in CHECKS.values()
    ],
    "channels/vendor_accounts/circuit_breaker.sql": whole(circuit_breaker._SQL),
    "otp/protection/known_phones.sql": whole(known_phones._SQL),
    "otp/statistics/savings_count.sql": [savings_count._CODES],
    "otp/statistics/usual_spending.sql": [usual_spending._SPENT],
    "persons/person.sql": whole(person_sql.PERSON),
    "persons/erasure.sql": whole(person_sql.ERASE),
    "persons/erasure_everywhere.sql": whole(person_sql.ERASE_EVERYWHERE),
    "persons/whole_phone.sql": [*person_sql.WHOLE_PHONES.values()],
    "links/clicks/webhooks.sql": [
        click_webhooks.APPEND_EVENTS,
        click_webhooks._SQL["companies_of_test_links"],
    ],
    "api/idempotency.sql": whole(idempotency._SQL),
    "otp/codes.sql": [sql.SEALED_CODES, sql.WIPE_EXPIRED_CODES, sql.ANONYMISE_PHONES],
    "otp/without_phone.sql": [sql.ANONYMISE_PHONES],
    "otp/check/check.sql": [sql.CHECK_CODE, sql.CHECK_CODES],
    "otp/send/send.sql": [
        *(
            sql.send(is_test=is_test, has_link=has_link, has_key=has_key, link_dies=link_dies)
            for is_test, has_link, has_key, link_dies in product(_BOTH, repeat=4)
        ),
        sql.SEND_OF_ONE_COMPANY,
        sql.SEND_OF_SEVERAL_COMPANIES,
    ],
    "otp/check/settle_finished.sql": [settlement._SETTLE_FINISHED],
    "webhooks/claim.sql": [webhook_dispatcher.CLAIM],
    "webhooks/dispatcher.sql": whole(webhook_dispatcher._SQL),
    "accounts/keys/api_keys.sql": [
        text for name, text in api_keys.statements().items() if name in {"read", "without_key"}
    ],
    "links/make/insert.sql": [links_sql.SHORTEN, links_sql.INSERT_MANY, links_sql.GENERATED],
    "links/manage/disable_with_codes.sql": [changes._DISABLE_WITH_CODES],
    "operator_admin/attention.sql": [attention._SQL[name] for name in attention.KINDS],
    "operator_admin/figures.sql": [*operator_figures._SQL.values()],
    "otp/check/refusals.sql": [
        *(check._REFUSAL_SQL_BY_PHONE[name] for name in ("phone_of_id", "seconds_until_allowed")),
        *(
            texts["refusal_state"]
            for texts in (check._REFUSAL_SQL_BY_PHONE, check._REFUSAL_SQL_BY_ID)
        ),
    ],
    "otp/check/entered_codes.sql": [entered_codes._ENTERED_AT_VENDORS],
    "otp/check/settlement.sql": [*whole(settlement._SQL), settlement._SETTLE_VERIFIED],
    "otp/send/custom_code.sql": whole(custom_code._SQL),
    "otp/send/tried_channels.sql": whole(tried_channels._SQL),
    "otp/texts/own_texts.sql": [own_texts._SQL["of_company"]],
    "accounts/keys/changes.sql": [key_cache._QUERY],
    "api/request_log.sql": [request_log._INSERT],
    "billing/budgets/effective_budgets.sql": [budgets._SQL["usage_by_country"]],
    "billing/budgets/key_usage.sql": [key_limits._USAGE],
    "billing/orders/polling.sql": [polling._CLAIM],
    "billing/seals/pieces.sql": [hashes._PIECES],
    "billing/seals/proof.sql": whole(proof._SQL),
    "billing/wallet/next_lines.sql": [
        statement._next_lines(set(kinds)) for kinds in (statement.Kind, [statement.Kind.GRANT])
    ],
    "billing/wallet/opening.sql": [archived._OPENING],
    "channels/sealed_spans.sql": [fill(full_reconciliation._SEALED_SPANS, after="0", until="1")],
    "channels/deliver/due_in_turn.sql": [
        sweeps.PATIENCE_EXPIRED,
        sweeps.OVERDUE_ATTEMPTS,
        sweeps.OVERDUE_MESSAGES,
    ],
    "channels/deliver/fair_queueing.sql": [fair_queueing._REORDER],
    "channels/deliver/heartbeats.sql": [heartbeats._UPSERT],
    "channels/deliver/sweeps.sql": whole(sweeps._SQL),
    "channels/history/anonymise.sql": [retention.ANONYMISE_PHONES, retention._ANONYMISE_IDS],
    "channels/history/count_day.sql": [
        fill(day_counts._COUNT, pace=day_counts.PACE, whose=whose)
        for whose in (day_counts.ALL_COMPANIES, day_counts.ONE_COMPANY)
    ],
    "channels/history/drop_watch.sql": [drop_watch._RECENT],
    "channels/history/figures.sql": [figures._READ],
    "channels/history/take_stale.sql": [day_counts._TAKE_STALE],
    "channels/recipients/mark_refused.sql": [contacts._MARK_REFUSED],
    "channels/recipients/remember.sql": [vendor_user_ids.REMEMBER],
    "channels/vendor_accounts/approvals.sql": [approvals._UPSERT],
    "channels/vendor_accounts/availability.sql": [availability._READ_ACCOUNTS],
    "channels/vendor_accounts/vendor_alerts.sql": [vendor_alerts._UPSERT],
    "links/clicks/hand_overs.sql": [bot_detection._HAND_OVERS],
    "links/clicks/statistics.sql": whole(click_statistics._SQL),
    "links/follow/one_time_links.sql": whole(one_time_links._SQL),
    "links/follow/select_links.sql": [cached_row.SELECT],
    "links/make/reuse.sql": whole(reuse._SQL),
    "operator_admin/alerts/claim.sql": [evaluation._CLAIM],
    "operator_admin/archive_dumps.sql": whole(archive_dumps._SQL),
    "operator_admin/database_role.sql": [database_role._PRIVILEGES],
    "operator_admin/incidents/impact.sql": whole(impact._SQL),
    "operator_admin/incidents/used_channels.sql": [notices._CHANNELS],
    "operator_admin/status/summary.sql": whole(summary._SQL),
    "otp/history.sql": [
        text for texts in (history._OF_COMPANY, history._OF_ALL) for text in whole(texts)
    ],
    "otp/protection/code_outcomes.sql": whole(code_outcomes._SQL),
    "otp/statistics/route_learning.sql": [route_learning._ATTEMPTS],
    "persons/erasure_list.sql": whole(erasure_list._SQL),
    "storage/months/doubled.sql": [partitions._DOUBLED],
    "storage/months/indexes.sql": [new_tables._INDEXES],
    "storage/postgres_limits.sql": [postgres_limits._TAKE],
    "storage/schema_changes/partitions_without.sql": [operations._PARTITIONS_WITHOUT],
    "storage/schema_changes/waits.sql": whole(runs._SQL),
}


def test_each_file_is_listed_here() -> None:
    found = (path for name in PACKAGES for path in (ROOT / name).rglob("*.sql"))
    files = {str(path.relative_to(ROOT)) for path in found}

    assert files - installed().keys() == STATEMENTS.keys()


@pytest.mark.parametrize("path", STATEMENTS)
def test_statement_can_be_planned(path: str) -> None:
    """Prints each statement as it is executed, and its plan: `-rP` shows them."""
    with connection.cursor() as cursor:
        for statement in map(channels_sql.in_changeable_months, STATEMENTS[path]):
            text = _number_parameters(statement).text.decode()
            lines = cursor.cursor.connection.execute(
                f"EXPLAIN (GENERIC_PLAN) {text}", prepare=False
            )
            sys.stdout.write("\n".join([text, *(line for (line,) in lines), "", ""]))
