"""Every column that can hold a phone is listed for the eraser."""

from collections import Counter

import pytest

from persons import columns
from tests.sql import execute

# Companies, their members, the operator, money and operations: nothing about recipients.
NOT_OF_RECIPIENTS = {
    "account_emailaddress": "email",
    "account_emailconfirmation": "key",
    "accounts_apikey": "name prefix digest scopes purpose public_key allowed_ips day_limit",
    "accounts_cacheentry": "key value",
    "accounts_company": "name status language brand default_channel allowed_countries budgets"
    " policy guard_restrictions fallback_chain link_host link_targets link_utm"
    " link_expired_url patience",
    "webhooks_delivery": "state",
    "webhooks_deliveryattempt": "headers error",
    "accounts_savedfilter": "page name query",
    "webhooks_endpoint": "url kinds description key_id previous_key_id older_secrets"
    " disabled_reason",
    "accounts_invitation": "email role",
    "accounts_jobfailure": "job subject error",
    "accounts_mail": "template to subject text html unsubscribe_url key error",
    "accounts_member": "role",
    "accounts_user": "password email name time_zone muted_notices",
    "accounts_usersession": "session_key user_agent",
    "auth_group": "name",
    "auth_permission": "name codename",
    "billing_archivedmonth": "sha256",
    "billing_archivedsum": "kind transfers tokens",
    # Payers' details, personal for a sole trader; docs/payments.md says how long they are kept.
    "billing_automaticorder": "method_id customer_id",
    "billing_autotopup": "threshold tokens gateway max_amount_per_month paused_for",
    "billing_banktransfer": "key source account document_number amount party_name party_inn"
    " party_account purpose state problem",
    "billing_balancealert": "level",
    "billing_billingprofile": "legal_name inn kpp address email edo_id low_balance",
    "billing_budget": "fixed_tokens usual_tokens",
    "billing_closedmonth": "opening bought granted withdrawn spent closing charges money head",
    "billing_document": "kind tokens amount vat lines parties",
    "billing_lot": "transfer_key tokens used withdrawn amount vat_rate",
    "billing_order": "tokens amount vat_rate gateway state payment_id payment_url"
    " return_url parties",
    "billing_package": "code tokens price",
    "billing_payment": "gateway payment_id amount problem reference resolution note",
    "billing_refund": "gateway refund_id payment_reference amount tokens taken problem note",
    "billing_reconciliationrun": "position breaches",
    "billing_savedmethod": "gateway method_id customer_id brand",
    "billing_seal": "parts transfers available held head",
    "billing_sealedday": "head",
    "billing_seller": "name inn kpp address bank_name bic account corr_account vat_rate head edo_id"
    " accountant details_abroad",
    "billing_spentday": "tokens busiest_hour",
    "billing_statementmark": "account error",
    "billing_tariff": "tokens_from price",
    "billing_wallet": "available held day_tokens hour_tokens key_tokens",
    "channels_daybreakdown": "value spent returned",
    "channels_daycount": "channel state",
    "channels_deliverydrop": "channel share usual",
    "channels_routeday": "arm codes entered tokens tokens_squared seconds",
    "channels_routerstate": "version state",  # by carrier's range
    "channels_heartbeat": "process kind details",
    "channels_provideraccount": "credentials name prefixes reason pause_reason share_factor",
    "channels_vendorapproval": "provider kind name language status vendor_status quality reason",
    "django_admin_log": "object_id",
    "django_content_type": "app_label model",
    "django_migrations": "app name",
    "django_session": "session_key session_data",
    "identity_hooks_hook": "kind name url_id secret previous_secret allowed_ips purpose channels"
    " mapping",
    "links_blockedhost": "host reason",
    "links_linkimport": "file_name ignored state reason",
    "links_shorthost": "host",
    "mfa_authenticator": "type data",
    "operator_admin_alert": "rule subject details",  # vendors, processes, figures
    "operator_admin_alertrun": "group",
    "operator_admin_companynote": "text",
    "operator_admin_incident": "titles impact state channel",
    "operator_admin_incidentupdate": "state texts",
    "operator_admin_statusday": "component total good largest",
    "operator_admin_telegramnotice": "text error",
    "otp_guardreplay": "tokens",
    "otp_autofill": "webotp_host app_hash",
    "otp_codetext": "purpose channel locale body",
    "socialaccount_socialaccount": "provider uid extra_data",  # of users
    "socialaccount_socialapp": "provider provider_id name client_id secret key settings",  # empty
    "socialaccount_socialtoken": "token token_secret",  # empty
}

# Text, JSON, bytes and arrays of at least eight characters, and numbers that are no ids.
_COLUMNS = """
SELECT relname || '.' || attname FROM pg_attribute
JOIN pg_class ON pg_class.oid = attrelid JOIN pg_type ON pg_type.oid = atttypid
WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'm')
  AND NOT relispartition AND attnum > 0 AND NOT attisdropped
  AND (typcategory IN ('A', 'S', 'U') AND typname NOT IN ('uuid', 'char')
       OR typname IN ('int8', 'numeric', 'float8'))
  AND NOT (typname = 'varchar' AND atttypmod BETWEEN 4 AND 11)
  AND NOT (typname = 'int8' AND (attname = 'id' OR attname LIKE '%\\_id'))
"""


@pytest.mark.django_db
def test_every_column_that_can_hold_a_phone_is_known_to_the_eraser() -> None:
    existing = {name for (name,) in execute(_COLUMNS)}

    tables = [columns.ERASED, *columns.KEPT.values(), NOT_OF_RECIPIENTS]
    known = Counter(
        f"{table}.{name}"
        for group in tables
        for table, names in group.items()
        for name in names.split()
    )

    assert existing - known.keys() == set(), "say in persons/columns.py what happens to them"
    assert known.keys() - existing == set()
    assert set(known.values()) == {1}
