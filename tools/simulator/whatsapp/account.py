"""The Graph API's reads of an account: its number, its app, its templates, its webhook.

https://developers.facebook.com/documentation/business-messaging/whatsapp/reference
"""

from collections.abc import Set

from tools.simulator.settings import Settings
from tools.simulator.vendor import Json
from tools.simulator.whatsapp.templates import Template

APP_ID, APP_NAME = "2949482758682047", "Simulator"
TEMPLATE_ID = 594425479261596
WEBHOOK_FIELDS = (
    "account_alerts",
    "account_review_update",
    "account_update",
    "message_template_quality_update",
    "message_template_status_update",
    "messages",
    "phone_number_quality_update",
    "template_category_update",
)
DEFAULT_FIELDS = ("id", "display_phone_number", "verified_name", "quality_rating")


def number(settings: Settings, lacks: Set[str], fields: str) -> Json:
    """Of the fields that are asked for, those that Meta has; `id` comes unasked."""
    known = {
        "id": settings.whatsapp_phone_number_id,
        "display_phone_number": "+1 555-078-3881",
        "verified_name": "Simulator",
        "status": "PENDING" if "registration" in lacks else "CONNECTED",
        "platform_type": "NOT_APPLICABLE" if "registration" in lacks else "CLOUD_API",
        "quality_rating": "RED" if "quality" in lacks else "GREEN",
        "code_verification_status": "UNVERIFIED" if "verification" in lacks else "VERIFIED",
        "name_status": "DECLINED" if "display_name" in lacks else "APPROVED",
    }
    wanted = [name.strip() for name in fields.split(",") if name] or list(DEFAULT_FIELDS)
    return {name: known[name] for name in ("id", *wanted) if name in known}


def subscribed_apps(lacks: Set[str]) -> Json:
    app = {"link": f"https://www.facebook.com/games/?app_id={APP_ID}"}
    api_data = {"whatsapp_business_api_data": {**app, "name": APP_NAME, "id": APP_ID}}
    return {"data": [] if "subscription" in lacks else [api_data]}


def templates(known: dict[str, Template], lacks: Set[str], part: str) -> Json:
    """Meta's `name` finds whatever contains it."""
    rows = [
        {
            "name": name,
            "language": language,
            "status": "APPROVED",
            "quality_score": {"score": "GREEN"},
            "rejected_reason": "NONE",
            "category": template.category.upper(),
            "id": str(TEMPLATE_ID + len(name) + len(language)),
        }
        for name, template in known.items()
        for language in template.bodies
        if part in name
    ]
    if "template" in lacks and rows:
        rows[0]["status"] = "PENDING"
    if "template_rejected" in lacks and rows:
        rows[0] |= {"status": "REJECTED", "rejected_reason": "INVALID_FORMAT"}
    if "template_paused" in lacks and rows:
        rows[-1] |= {"status": "PAUSED", "quality_score": {"score": "RED"}}
    return {"data": rows, "paging": {"cursors": {"before": "MAZDZD", "after": "MjQZD"}}}


def subscriptions(settings: Settings, lacks: Set[str]) -> Json:
    subscribed = ("messages",) if "webhook_fields" in lacks else WEBHOOK_FIELDS
    subscription = {
        "object": "whatsapp_business_account",
        "callback_url": f"{settings.public_url}/hooks/whatsapp",
        "active": True,
        "fields": [{"name": name, "version": "v25.0"} for name in subscribed],
    }
    return {"data": [] if "webhook" in lacks else [subscription]}
