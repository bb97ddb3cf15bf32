"""What a fresh WhatsApp account may lack: asked of the Graph API, which is changed by none of it.

https://developers.facebook.com/documentation/business-messaging/whatsapp/get-started
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from urllib.parse import quote

from channels.providers import http
from channels.providers.base import AccountRequirements, Check, SendError

NUMBER_FIELDS = (
    "id,display_phone_number,status,platform_type,quality_rating,code_verification_status,"
    "name_status"
)
# Without the first there is neither a receipt nor a STOP; by the others Meta warns of the account.
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
_BAD_NAMES = {"DECLINED", "EXPIRED", "NONE"}

Look = Callable[..., http.VendorResponse]
Refusal = Callable[[http.VendorResponse], SendError]


@dataclass(frozen=True, slots=True)
class Account:
    """The account's settings that are looked at."""

    version: str
    number: str
    business_account: str  # the WABA's id; without it its parts cannot be asked about
    app_secret: str
    verify_token: str
    templates: Collection[str]
    languages: Collection[str]


def checks(
    account: Account, look: Look, refusal: Refusal, wanted: AccountRequirements
) -> Iterator[Check]:
    ask = _GraphClient(account, look, refusal)
    yield from http.run_check("number", lambda: _number(ask))
    yield Check("app_secret", bool(account.app_secret))
    yield Check("verify_token", bool(account.verify_token))
    if account.business_account:
        yield from http.run_check("subscribed_app", lambda: _subscribed(ask))
        yield from http.run_check("templates", lambda: _templates(ask))
    else:
        yield Check("business_account", None)
    yield from http.run_check("webhook", lambda: _webhook(ask, wanted.hook_url))


@dataclass(frozen=True, slots=True)
class _GraphClient:
    account: Account
    look: Look
    refusal: Refusal

    def get(self, path: str, authorization: str = "") -> http.Json:
        path = f"/{quote(self.account.version)}/{path}"
        answer = self.look(path, authorization=authorization)
        if answer.status >= 300 or not answer.data:
            raise self.refusal(answer)
        return answer.data

    def app_id(self) -> str:
        return http.text(self.get("app?fields=id").get("id")) or ""


def _number(ask: _GraphClient) -> Iterator[Check]:
    number = ask.get(f"{quote(ask.account.number)}?fields={NUMBER_FIELDS}")
    status, platform = _word(number, "status"), _word(number, "platform_type")
    is_registered = status in {"", "CONNECTED"} and platform in {"", "CLOUD_API"}
    yield Check("number_registered", is_registered, " ".join(filter(None, (status, platform))))
    verified = _word(number, "code_verification_status")
    yield Check("number_verified", "UNVERIFIED" != verified != "NOT_VERIFIED", verified)
    quality = _word(number, "quality_rating")
    yield Check("number_quality", quality != "RED", quality)
    name = _word(number, "name_status")
    yield Check("display_name", name not in _BAD_NAMES, name)


def _subscribed(ask: _GraphClient) -> Iterator[Check]:
    listed = ask.get(f"{quote(ask.account.business_account)}/subscribed_apps").get("data")
    known = [http.mapping(one.get("whatsapp_business_api_data")) for one in http.objects(listed)]
    ours = ask.app_id()
    names = ", ".join(filter(None, (http.text(one.get("name")) for one in known)))
    is_there = ours in {http.text(one.get("id")) for one in known}
    yield Check("subscribed_app", is_there, http.redact(names))


def _templates(ask: _GraphClient) -> Iterator[Check]:
    """Each of the account's templates in each of its languages."""
    for name in ask.account.templates:
        path = f"{quote(ask.account.business_account)}/message_templates"
        query = f"name={quote(name)}&fields=name,language,status&limit=100"
        found = {
            _text(row, "language"): _word(row, "status")
            for row in http.objects(ask.get(f"{path}?{query}").get("data"))
            if row.get("name") == name  # Meta finds names that merely contain it
        }
        for language in sorted(set(ask.account.languages)):
            status = found.get(language, "")
            told = " ".join(filter(None, (name, language, status)))
            yield Check("template", status == "APPROVED", told)


def _webhook(ask: _GraphClient, hook_url: str) -> Iterator[Check]:
    if not ask.account.app_secret:
        return
    ours = ask.app_id()
    token = f"Bearer {ours}|{ask.account.app_secret}"
    known = http.objects(ask.get(f"{quote(ours)}/subscriptions", token).get("data"))
    of_whatsapp = [one for one in known if one.get("object") == "whatsapp_business_account"]
    one = http.first(of_whatsapp)
    address = _text(one, "callback_url")
    yield Check("webhook_address", one.get("active") is True and address == hook_url, address)
    told = {_text(field, "name") for field in http.objects(one.get("fields"))}
    missing = [name for name in WEBHOOK_FIELDS if name not in told]
    yield Check("webhook_fields", not missing, ", ".join(missing))


def _text(value: http.Json, name: str) -> str:
    return http.text(value.get(name)) or ""


def _word(value: http.Json, name: str) -> str:
    return _text(value, name).upper()
