"""Checks of a fresh WhatsApp account, and of the approval of its templates.

Makes read-only calls of the Graph API:
https://developers.facebook.com/documentation/business-messaging/whatsapp/get-started
https://developers.facebook.com/docs/graph-api/reference/whats-app-business-hsm
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from urllib.parse import quote

from channels.providers import http
from channels.providers.base import (
    AccountRequirements,
    Approval,
    ApprovalKind,
    ApprovalStatus,
    Check,
)
from channels.providers.http import text_of, upper_of
from channels.providers.whatsapp.vendor import WEBHOOK_FIELDS

NUMBER_FIELDS = (
    "id,display_phone_number,status,platform_type,quality_rating,code_verification_status,"
    "name_status"
)
_BAD_NAMES = {"DECLINED", "EXPIRED", "NONE"}


@dataclass(frozen=True, slots=True)
class Account:
    """The settings that the checks compare, and the way to the Graph API."""

    version: str
    number: str
    business_account: str  # the WABA's id; without it its templates and apps cannot be read
    app_secret: str
    verify_token: str
    templates: Collection[str]
    languages: Collection[str]
    read: Callable[..., http.Json]

    def get(self, path: str, authorization: str = "") -> http.Json:
        return self.read(f"/{quote(self.version)}/{path}", authorization=authorization)

    def app_id(self) -> str:
        return http.text(self.get("app?fields=id").get("id")) or ""


def checks(account: Account, requirements: AccountRequirements) -> Iterator[Check]:
    yield from http.run_check("number", lambda: _number(account))
    yield Check("app_secret", bool(account.app_secret))
    yield Check("verify_token", bool(account.verify_token))
    if account.business_account:
        yield from http.run_check("subscribed_app", lambda: _subscription(account))
        yield from http.run_check("templates", lambda: _templates(account))
    else:
        yield Check("business_account", None)
    yield from http.run_check("webhook", lambda: _webhook(account, requirements.hook_url))


def _number(account: Account) -> Iterator[Check]:
    number = account.get(f"{quote(account.number)}?fields={NUMBER_FIELDS}")
    status = upper_of(number, "status")
    platform = upper_of(number, "platform_type")
    is_registered = status in {"", "CONNECTED"} and platform in {"", "CLOUD_API"}
    yield Check("number_registered", is_registered, " ".join(filter(None, (status, platform))))
    verified = upper_of(number, "code_verification_status")
    yield Check("number_verified", "UNVERIFIED" != verified != "NOT_VERIFIED", verified)
    quality = upper_of(number, "quality_rating")
    yield Check("number_quality", quality != "RED", quality)
    name = upper_of(number, "name_status")
    yield Check("display_name", name not in _BAD_NAMES, name)


def _subscription(account: Account) -> Iterator[Check]:
    listed = account.get(f"{quote(account.business_account)}/subscribed_apps").get("data")
    apps = [http.mapping(row.get("whatsapp_business_api_data")) for row in http.objects(listed)]
    own_id = account.app_id()
    names = ", ".join(filter(None, (http.text(app.get("name")) for app in apps)))
    is_subscribed = own_id in {http.text(app.get("id")) for app in apps}
    yield Check("subscribed_app", is_subscribed, http.redact(names))


def _templates(account: Account) -> Iterator[Check]:
    """Checks each template in each language."""
    for name in account.templates:
        path = f"{quote(account.business_account)}/message_templates"
        query = f"name={quote(name)}&fields=name,language,status&limit=100"
        statuses = {
            text_of(row, "language"): upper_of(row, "status")
            for row in http.objects(account.get(f"{path}?{query}").get("data"))
            if row.get("name") == name  # Meta also returns longer names that contain it
        }
        for language in sorted(set(account.languages)):
            status = statuses.get(language, "")
            detail = " ".join(filter(None, (name, language, status)))
            yield Check("template", status == "APPROVED", detail)


def _webhook(account: Account, hook_url: str) -> Iterator[Check]:
    if not account.app_secret:
        return
    app_id = account.app_id()
    token = f"Bearer {app_id}|{account.app_secret}"
    subscriptions = http.objects(account.get(f"{quote(app_id)}/subscriptions", token).get("data"))
    of_whatsapp = [row for row in subscriptions if row.get("object") == "whatsapp_business_account"]
    subscription = http.first(of_whatsapp)
    address = text_of(subscription, "callback_url")
    yield Check(
        "webhook_address", subscription.get("active") is True and address == hook_url, address
    )
    fields = {text_of(field, "name") for field in http.objects(subscription.get("fields"))}
    missing = [name for name in WEBHOOK_FIELDS if name not in fields]
    yield Check("webhook_fields", not missing, ", ".join(missing))


FIELDS = "name,language,status,quality_score,rejected_reason"
MAX_PAGES = 20
_NOTHING = {"", "NONE", "UNKNOWN"}
# Other states, such as IN_APPEAL, are under review.
_STATUSES = {
    "APPROVED": ApprovalStatus.APPROVED,
    "FLAGGED": ApprovalStatus.APPROVED,  # sent as usual, but at risk of a pause
    "REJECTED": ApprovalStatus.REJECTED,
    "PAUSED": ApprovalStatus.PAUSED,
    **dict.fromkeys(
        ("DISABLED", "DELETED", "PENDING_DELETION", "LIMIT_EXCEEDED", "ARCHIVED"),
        ApprovalStatus.DISABLED,
    ),
}


def approvals(account: Account) -> Iterator[Approval]:
    """Every template of the business account, and the templates that the account uses but lacks."""
    listed = set[tuple[str, str]]()
    used = {(name, language) for name in account.templates for language in account.languages}
    for row in _listed_templates(account):
        name = text_of(row, "name")
        language = text_of(row, "language")
        if name:
            listed.add((name, language))
            yield _approval(row, name, language, is_used=(name, language) in used)
    for name, language in sorted(used - listed):
        yield Approval(ApprovalKind.TEMPLATE, name, ApprovalStatus.MISSING, language)


def _listed_templates(account: Account) -> Iterator[http.Json]:
    path = f"{quote(account.business_account)}/message_templates?fields={FIELDS}&limit=100"
    after = ""
    for _page in range(MAX_PAGES):
        response = account.get(path + (f"&after={quote(after)}" if after else ""))
        yield from http.objects(response.get("data"))
        paging = http.mapping(response.get("paging"))
        after = text_of(http.mapping(paging.get("cursors")), "after")
        if not (after and paging.get("next")):
            return


def _approval(row: http.Json, name: str, language: str, *, is_used: bool) -> Approval:
    vendor_status = upper_of(row, "status")
    quality = upper_of(http.mapping(row.get("quality_score")), "score")
    reason = upper_of(row, "rejected_reason")
    return Approval(
        ApprovalKind.TEMPLATE,
        name,
        _STATUSES.get(vendor_status, ApprovalStatus.PENDING),
        language,
        vendor_status=vendor_status,
        quality="" if quality in _NOTHING else quality,
        reason="" if reason in _NOTHING else reason,
        is_used=is_used,
    )
