"""What a fresh Twilio account may lack: money, a sender, the countries it may send to.

https://www.twilio.com/docs/messaging/guides/sms-geo-permissions
"""

from collections.abc import Callable, Iterator
from urllib.parse import quote

from channels.providers import http
from channels.providers.base import (
    AccountRequirements,
    Approval,
    ApprovalKind,
    ApprovalStatus,
    Check,
)

Get = Callable[..., http.Json]  # by path, and by the host of another of Twilio's APIs
SENDER_LISTS = ("PhoneNumbers", "ShortCodes", "AlphaSenders")
# Others, such as IN_PROGRESS, are under review.
_STATUSES = {
    "VERIFIED": ApprovalStatus.APPROVED,
    "FAILED": ApprovalStatus.REJECTED,
    "SUSPENDED": ApprovalStatus.DISABLED,
}


class Checks:
    def __init__(self, account: str, get: Get) -> None:
        self._account, self.get = account, get

    def of(self, sender: str, *, is_service: bool, wanted: AccountRequirements) -> Iterator[Check]:
        yield from http.run_check("trial", self._trial)
        yield from http.run_check("balance", self._balance)
        if is_service:
            yield from http.run_check("service", lambda: self._service(sender))
        else:
            yield from http.run_check("sender", lambda: self._sender(sender))
        if wanted.countries:
            yield from http.run_check("countries", lambda: self._countries(wanted.countries))

    def _trial(self) -> Iterator[Check]:
        kind = http.text(self.get(f"{self._account}.json").get("type")) or ""
        yield Check("trial", kind.lower() != "trial", kind)

    def _balance(self) -> Iterator[Check]:
        money = self.get(f"{self._account}/Balance.json")
        balance = http.text_of(money, "balance")
        detail = f"{balance} {http.text_of(money, 'currency')}".strip()
        yield Check("balance", http.is_positive(balance), detail)

    def _service(self, sid: str) -> Iterator[Check]:
        """A messaging service without a sender in its pool sends nothing (21703)."""
        path = f"/v1/Services/{quote(sid, safe='')}"
        for name in SENDER_LISTS:
            listed = self.get(f"{path}/{name}?PageSize=20", "messaging")
            key = {"PhoneNumbers": "phone_numbers", "ShortCodes": "short_codes"}.get(
                name, "alpha_senders"
            )
            if senders := http.objects(listed.get(key)):
                yield Check("service", True, f"{name}: {len(senders)}")
                return
        yield Check("service", False)

    def _sender(self, sender: str) -> Iterator[Check]:
        if not sender.startswith("+"):  # a name or a short code: this list has neither
            yield Check("sender", None if sender else False, sender)
            return
        path = f"{self._account}/IncomingPhoneNumbers.json?PhoneNumber={quote(sender, safe='')}"
        numbers = [
            row
            for row in http.objects(self.get(path).get("incoming_phone_numbers"))
            if row.get("phone_number") == sender
        ]
        can_send = any(http.mapping(row.get("capabilities")).get("sms") is True for row in numbers)
        yield Check("sender", can_send, sender)

    def _countries(self, countries: tuple[str, ...]) -> Iterator[Check]:
        path = f"/v1/Messaging/GeoPermissions?CountryCode={quote(','.join(countries))}"
        listed = http.objects(self.get(path, "accounts").get("permissions"))
        enabled = {row.get("country_code") for row in listed if row.get("enabled") is True}
        missing = [country for country in countries if country not in enabled]
        yield Check("countries", not missing, ", ".join(missing or countries))


def campaigns(get: Get, service: str) -> Iterator[Approval]:
    path = f"/v1/Services/{quote(service, safe='')}/Compliance/Usa2p?PageSize=20"
    for row in http.objects(get(path, "messaging").get("compliance")):
        word = http.word_of(row, "campaign_status")
        use_case = http.text_of(row, "us_app_to_person_usecase")
        errors = (http.redact(item.get("description")) for item in http.objects(row.get("errors")))
        yield Approval(
            ApprovalKind.CAMPAIGN,
            " ".join(filter(None, (http.text(row.get("sid")), use_case))),
            _STATUSES.get(word, ApprovalStatus.PENDING),
            word=word,
            reason="; ".join(filter(None, errors)),
        )
