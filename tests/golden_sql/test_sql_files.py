"""Each `.sql` file is a statement that PostgreSQL can plan, however its placeholders are filled."""

import re
import sys
from collections.abc import Mapping
from dataclasses import asdict
from itertools import product

import pytest
from django.db import connection

from accounts.keys import api_keys
from api import idempotency
from billing.budgets import budgets
from billing.documents import month_closing
from billing.seals import sealing
from billing.wallet import ledger, period_totals
from channels import reconciliation
from channels import sql as channels_sql
from channels.accept import send_limits
from channels.deliver import claims
from channels.outcomes import (
    decision_writer,
    due_receipts,
    inbound_receipts,
    sms_parts,
    transitions,
    unchanged_messages,
)
from channels.reconciliation import CHECKS
from channels.vendor_accounts import circuit_breaker
from config.environment.variables import ROOT
from links import sql as links_sql
from links.clicks import counting, delivery_proof
from links.clicks import webhooks as click_webhooks
from links.make import retired_aliases
from links.manage import changes
from operator_admin import attention, figures
from otp import sql
from otp.check import check, entered_codes, settlement
from otp.protection import known_phones
from otp.send import custom_code, tried_channels
from otp.statistics import savings_count, usual_spending
from otp.texts import own_texts
from persons import sql as person_sql
from storage.statements.single_statement import _numbered
from tests.storage.test_sql_files import installed
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
    "channels/outcomes/attempt_proved_by_code.sql": [transitions._ATTEMPT_PROVED_BY_CODE],
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
    "operator_admin/figures.sql": [*figures._SQL.values()],
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
}


def test_each_file_is_listed_here() -> None:
    apps = {path.parent.parent for path in ROOT.glob("*/migrations/0001_initial.py")}
    files = {str(path.relative_to(ROOT)) for app in apps for path in app.rglob("*.sql")}

    assert files - installed().keys() == STATEMENTS.keys()


@pytest.mark.parametrize("path", STATEMENTS)
def test_statement_can_be_planned(path: str) -> None:
    """Prints each statement as it is executed, and its plan: `-rP` shows them."""
    with connection.cursor() as cursor:
        for statement in map(channels_sql.in_changeable_months, STATEMENTS[path]):
            text = _numbered(statement).text.decode()
            lines = cursor.cursor.connection.execute(
                f"EXPLAIN (GENERIC_PLAN) {text}", prepare=False
            )
            sys.stdout.write("\n".join([text, *(line for (line,) in lines), "", ""]))
