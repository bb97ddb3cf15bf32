"""WhatsApp Cloud API of Meta: the options of an account, texts and setup."""

import secrets
from collections.abc import Iterable, Mapping

from django.utils.translation import gettext_lazy as _

from catalogue.account_options import Option
from catalogue.languages import matching, message_languages, page_languages, tags
from channels.providers.declaration import (
    ACCOUNT_FAULT,
    ADDRESS,
    BUSY,
    NO_ACCOUNT_THERE,
    OTHER_CHANNEL,
    TOO_FAST,
    SetupStep,
    Snippet,
    Vendor,
    texts,
)

# The first field brings receipts and STOP replies; with the others Meta warns about the account.
# `user_preferences`, by which people stop and resume marketing messages (Meta's reference of that
# webhook, 21 May 2026), is not needed: our templates are of authentication and utility, and 131050
# refuses a send if Meta made one of them marketing.
WEBHOOK_FIELDS = (
    "messages",
    "account_update",
    "account_alerts",
    "account_review_update",
    "phone_number_quality_update",
    "message_template_status_update",
    "message_template_quality_update",
    "template_category_update",
)


def _with_meta_code(codes: Iterable[str]) -> str:
    """Pairs of our language and Meta's code of the template's language: `ru:ru,en:en_US`."""
    return ",".join(
        f"{code}:{message_languages.texts(code)['whatsapp']['language']}" for code in codes
    )


# Each template must be approved in each language, so the list is not longer than that of the pages.
USUAL_LANGUAGES = _with_meta_code(page_languages.translated())


def _languages(text: str) -> dict[str, str]:
    """Parses `ru:ru,kk:kk,en:en_US` into Meta's codes by tag.

    Every template is approved in each of these languages.
    """
    pairs = [pair.partition(":") for pair in text.split(",")]
    read = {tags.canonical(tag.strip()): code.strip() for tag, _sign, code in pairs}
    if len(read) < len(pairs) or not all(read) or not all(read.values()):
        raise ValueError(f"must name a template language for each language: {USUAL_LANGUAGES}")
    return read


def nearest_language(templates: Mapping[str, str], tag: str, language: str) -> str:
    """The account's nearest template language, else its first."""
    supported = frozenset(templates)
    nearest = matching.match(tag, supported) or matching.match(language, supported)
    return nearest or next(iter(templates))


def _digits() -> str:
    return str(secrets.randbelow(9 * 10**14) + 10**14)


OPTIONS = (
    Option("version", variable="API_VERSION", default="v25.0"),
    Option("phone_number_id", _("Phone number ID"), simulated=_digits),
    Option("business_account_id", _("WhatsApp Business Account ID"), simulated=_digits),
    Option(
        "token", _("Access token"), is_secret=True, simulated=lambda: f"EAA{secrets.token_hex(32)}"
    ),
    Option("app_secret", _("App secret"), is_secret=True, simulated=lambda: secrets.token_hex(16)),
    Option(
        "verify_token",
        _("Verify token of the webhook"),
        is_ours=True,
        simulated=lambda: secrets.token_urlsafe(16),
    ),
    Option("code_template", _("Template of codes"), "verification_code"),
    Option("link_template", _("Template of links"), "short_link"),
    Option(
        "code_link_template",
        _("Template of codes with a link"),
        is_required=False,
        simulated="code_with_link",
    ),
    Option(
        "languages",
        default=USUAL_LANGUAGES,
        read=_languages,
        simulated=_with_meta_code(sorted(message_languages.codes())),
    ),
)

_TEMPLATE = _(
    "The message template is missing, paused or does not match. The operator has been notified."
)
FAILURES = texts(
    (("131026",), NO_ACCOUNT_THERE),
    (("131021",), _("The sender's own number.")),
    (("131049", "130472"), _("WhatsApp chose not to deliver it, to protect the person from spam.")),
    (("131050",), _("The person asked not to receive messages of this kind.")),
    (("130497",), _("WhatsApp does not deliver to this country.")),
    (("132000", "132001", "132005", "132007", "132012", "132015", "132016"), _TEMPLATE),
    (("0", "3", "10", "190", "368", "131005", "131031", "131037"), ACCOUNT_FAULT),
    (("131042", "131045", "133010"), ACCOUNT_FAULT),
    (("33", "100", "131008", "131009", "131047", "131051", "135000"), _TEMPLATE),
    (("131062", "131063", "132008"), _TEMPLATE),
    (("131030",), _("A WhatsApp trial account can write only to listed numbers.")),
    (("4", "80007", "130429", "131048", "131056", "131064"), TOO_FAST),
    (("1", "2", "131000", "131016", "131057", "133004", "2494100"), BUSY),
)

_TEMPLATE_LOST = _("Meta has disabled the template; see it in WhatsApp Manager.")
_RESTRICTED = _("Meta restricts the account. See Account quality in Meta Business Suite.")
_LOST_ACCOUNT = _("Meta has disabled the WhatsApp account: nothing is sent through it.")
ALERTS = texts(
    (("held_for_quality_assessment",), _("Held back until Meta has reviewed the template.")),
    (("paused", "template_paused", "template_disabled"), _TEMPLATE_LOST),
    (("template_rejected", "template_archived", "template_deleted"), _TEMPLATE_LOST),
    (("template_pending_deletion",), _TEMPLATE_LOST),
    (
        ("template_flagged", "template_quality_red"),
        _("People complain about the template: it may soon be paused."),
    ),
    (("template_locked",), _("Meta has locked the template: it cannot be edited.")),
    (("template_limit_exceeded",), _("The account already has as many templates as it may have.")),
    (
        ("template_category", "template_category_soon"),
        _("Meta is moving the template to another category: its price and limits change."),
    ),
    (("account_restriction", "account_violation", "review_rejected"), _RESTRICTED),
    (("disabled_update", "account_deleted", "account_offboarded"), _LOST_ACCOUNT),
    (("review_disabled",), _LOST_ACCOUNT),
    (
        ("partner_app_uninstalled", "partner_removed"),
        _("Our app lost its access to the WhatsApp account: subscribe it again."),
    ),
    (
        ("quality_flagged", "quality_downgrade", "quality_red", "quality_yellow"),
        _("People complain about messages from this number: its limit may be lowered next."),
    ),
)

CHECKS = {
    "number": _("the phone number"),
    "number_registered": _("the phone number is registered"),
    "number_verified": _("the phone number is verified"),
    "number_quality": _("quality of the phone number"),
    "display_name": _("the display name"),
    "app_secret": _("the app secret is set"),
    "verify_token": _("the verify token is set"),
    "business_account": _("the business account's id is set"),
    "subscribed_app": _("our app is subscribed to the account"),
    "templates": _("message templates"),
    "template": _("a message template"),
}
REMEDIES = {
    "number_registered": _(
        "Register the number: WhatsApp Manager, Phone numbers, the number, or POST to "
        "/PHONE_NUMBER_ID/register with its PIN. It must be Connected."
    ),
    "number_verified": _(
        "Verify the number by SMS or call: WhatsApp Manager, Phone numbers, the number."
    ),
    "number_quality": _(
        "People complain about messages from this number. See its Insights in WhatsApp Manager; "
        "until it recovers, Meta may lower its limit."
    ),
    "display_name": _(
        "Give the number a display name that Meta approves: WhatsApp Manager, Phone numbers, "
        "the number, Profile."
    ),
    "app_secret": _(
        "Copy the app secret (App settings, Basic) into WHATSAPP_APP_SECRET: without it no "
        "receipt is accepted."
    ),
    "verify_token": _(
        "Choose a WHATSAPP_VERIFY_TOKEN and give Meta the same: without it the webhook's "
        "address cannot be saved."
    ),
    "business_account": _(
        "Set WHATSAPP_BUSINESS_ACCOUNT_ID to have the subscription and the templates checked."
    ),
    "subscribed_app": _(
        "Subscribe the app to the account: POST to /BUSINESS_ACCOUNT_ID/subscribed_apps with the "
        "account's token. Until then Meta sends no receipts."
    ),
    "template": _(
        "Create the template in this language and wait until Meta approves it: WhatsApp "
        "Manager, Message templates. The names and languages are WHATSAPP_…_TEMPLATE and "
        "WHATSAPP_LANGUAGES."
    ),
    "templates": _(
        "Give the token whatsapp_business_management, and see that WHATSAPP_BUSINESS_ACCOUNT_ID is "
        "the account of this number."
    ),
    "webhook": _("Compare WHATSAPP_APP_SECRET with the app secret of the app whose token this is."),
    "webhook_address": _(
        "Set the callback URL of this page: the app, WhatsApp, Configuration, Webhook, Edit."
    ),
    "webhook_fields": _(
        "Subscribe to these fields: the app, WhatsApp, Configuration, Webhook fields, Manage."
    ),
}

_BEARER = '-H "Authorization: Bearer $WHATSAPP_TOKEN"'
_GRAPH = "curl -X POST https://graph.facebook.com/{version}"
_SUBSCRIBE = f"{_GRAPH}/$WHATSAPP_BUSINESS_ACCOUNT_ID/subscribed_apps {_BEARER}"
_REGISTER = (
    f"{_GRAPH}/$WHATSAPP_PHONE_NUMBER_ID/register {_BEARER} "
    "-d messaging_product=whatsapp -d pin=PIN"
)
STEPS = (
    SetupStep(
        "Meta for Developers → My Apps → Create app → Use cases → WhatsApp → API Setup",
        _("Create an app in the business portfolio that will send, and open its API setup."),
        ("phone_number_id", "business_account_id"),
    ),
    SetupStep(
        "App settings → Basic → App secret",
        _("Receipts are signed with the app secret: without it none is accepted."),
        ("app_secret",),
    ),
    SetupStep(
        "Meta Business Suite → Settings → Users → System users → Generate token",
        _(
            "Create a system user, assign it the app and the WhatsApp account with full control, "
            "and generate a token that never expires, with whatsapp_business_messaging and "
            "whatsapp_business_management."
        ),
        ("token",),
    ),
    SetupStep(
        "WhatsApp Manager → Phone numbers",
        _(
            "Add the number, verify it, have its display name approved, and register it with a PIN "
            "of six digits: its status must be Connected."
        ),
        copies=(Snippet(_("Register the number"), _REGISTER),),
    ),
    SetupStep(
        "Use cases → Customize → Configuration → Webhook",
        _(
            "Restart the service with a verify token of your choice first, then give Meta the "
            "address and the same token, and subscribe to every one of the fields."
        ),
        ("verify_token",),
        (ADDRESS, Snippet(_("Webhook fields"), ", ".join(WEBHOOK_FIELDS))),
    ),
    SetupStep(
        "Graph API → subscribed_apps",
        _(
            "Subscribe the app to the WhatsApp account: otherwise no receipts arrive, even though "
            "the webhook is set."
        ),
        copies=(Snippet(_("Subscribe the app"), _SUBSCRIBE),),
    ),
    SetupStep(
        "WhatsApp Manager → Message templates → Create template",
        _(
            "Create each template in each of the languages, with the text from the operator's "
            "guide, and wait until Meta approves them. The link's button leads to the address "
            "below."
        ),
        ("code_template", "link_template", "code_link_template", "languages"),
        (Snippet(_("Address of the link's button"), "{short_url}/{{{{1}}}}"),),
    ),
    SetupStep(
        "Meta Business Suite → Settings → Security Centre; Billing & payments",
        _(
            "Verify the business and add a way to pay: authentication templates need the first, "
            "and messages beyond the free ones the second."
        ),
    ),
)
VENDOR = Vendor(
    name="whatsapp_cloud",
    title="WhatsApp Cloud API",
    position=10,
    class_name="WhatsAppCloud",
    options=OPTIONS,
    console="https://developers.facebook.com/apps/",
    steps=STEPS,
    url="https://graph.facebook.com",
    simulated="whatsapp",
    failures=FAILURES,
    alerts=ALERTS,
    advice={"131026": OTHER_CHANNEL, "131050": OTHER_CHANNEL},
    checks=CHECKS,
    remedies=REMEDIES,
)
