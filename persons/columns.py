"""Every column of the schema that can contain a phone, and what an erasure does with it.

`tests/persons/test_columns.py` compares this with the schema, and names the columns of companies,
members and the operator: an erasure ignores a new column until it is listed here.
"""

from channels.models import stored_fields

# Erased or anonymised; `erasure.sql` has the statements.
ERASED = {
    "webhooks_delivery": "url",
    "webhooks_deliveryattempt": "response",
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

# The columns that are about the person too but are kept, by the reason.
KEPT = {
    "the person's own STOP, or the operator's block, must go on protecting them": {
        "channels_blockedphone": "phone reason"
    },
    "who did what is append-only; it names a phone only where the operator blocked or freed one": {
        "accounts_auditevent": "actor action subject changes"  # phones in values are masked
    },
    "deleted a week after a member uploaded the file; the link made from it is closed, and a row"
    " without a link yet is emptied": {
        "links_linkimportrow": "url alias expires_in short_url error"
    },
    "an erasure deletes all exports of the companies concerned; others expire after some days": {
        "accounts_csvexport": "kind query role reached_id",
        "accounts_csvexportpart": "body",
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
        "channels_receipt": "provider state vendor_status error_code",
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
