"""Every column of the schema that can contain a phone, and what an erasure does with it.

A test compares this with the schema: an erasure ignores a new column until it is listed here.
"""

from channels import stored_fields

# Erased or anonymised; `persons.sql` has the statements.
ERASED = {
    "webhooks_delivery": "url",
    "webhooks_deliveryattempt": "answer",
    "webhooks_event": "data",
    "api_idempotentrequest": "body",
    "channels_attempt": "provider_id error_detail",
    "channels_contact": "provider phone",
    "channels_knownrecipient": "vendor user_id",
    "channels_message": f"phone params {' '.join(stored_fields.NAMES)}",
    "channels_part": "provider provider_id",
    "channels_provideralert": "provider code detail kind",
    "channels_receipt": "provider_id alternatives phone error_detail raw",
    "channels_rememberedphone": "phone_hash key_id traces",
    "django_admin_log": "object_repr change_message",
    "links_click": "kind referrer device",
    "links_link": "url utm expired_url slug key",
    "links_report": "words",
    "otp_verification": "phone mac binding",
}

# Reason → columns that are about the person too, and kept.
KEPT = {
    "the person's own STOP, or the operator's block, must go on protecting them": {
        "channels_blockedphone": "phone reason"
    },
    "who did what is append-only; it names a phone only where the operator blocked or freed one": {
        "accounts_auditevent": "actor action subject changes"  # phones in values are masked
    },
    "deleted a week after a member uploaded the file; the link made from it is closed": {
        "links_linkimportrow": "url alias expires_in short_url error"
    },
    "an erasure deletes all exports of the companies concerned; others expire after some days": {
        "channels_messageexport": "query",
        "channels_messageexportpart": "body",
        "persons_companyexport": "reached_id",
        "persons_companyexportpart": "name body",
    },
    "deleted after 24 hours; until then it prevents a repeated effect of the request": {
        "api_idempotentrequest": "path key request_hash"
    },
    "recognises a repeated receipt or event; made from ids, not only from the phone": {
        "webhooks_event": "kind key",
        "channels_receipt": "digest",
    },
    "cost and outcome of an anonymous message, for the ledger and statistics": {
        "billing_transfer": "kind amount key proof reason balance_after",
        "channels_attempt": "channel provider state error_class error_code",
        "channels_fallbackevent": "reason channel",
        "channels_message": "content channel chain locale request_id state error",
        "channels_openmessage": "route_key",
        "channels_receipt": "provider state word error_code",
        "links_link": "clicks previews scanners",
        "links_report": "reason",
        "otp_verification": "purpose key_id",
    },
    "an encrypted custom code, deleted when its message ends, which an erasure waits for": {
        "otp_sealedcode": "key_id sealed"
    },
    "at least 100 numbers, or a keyed hash of an address; expires after some days or months": {
        "otp_guardevidence": "kind value score hits misses tokens norm_trials norm_hits",
        "otp_guardrestriction": "kind value rule",
    },
    "deleted after REQUEST_LOG_DAYS; the phone is masked": {
        "api_apirequest": "request_id path code fields phone"
    },
    "the list of erasures: a keyed hash, to erase again what a backup restores": {
        "persons_erasure": "key_id phone_hash"
    },
}

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
    "billing_autotopup": "threshold tokens gateway sum_a_month paused_for",
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
    "channels_routerstate": "version state",  # by operator's range
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
