"""The A2P 10DLC campaigns of a messaging service: without a verified one, US carriers refuse.

https://www.twilio.com/docs/messaging/api/usapptoperson-resource
"""

from collections.abc import Callable, Iterator
from urllib.parse import quote

from channels.providers import http
from channels.providers.approvals import Approval, ApprovalKind, ApprovalStatus

# Others, such as IN_PROGRESS, are under review.
_STATUSES = {
    "VERIFIED": ApprovalStatus.APPROVED,
    "FAILED": ApprovalStatus.REJECTED,
    "SUSPENDED": ApprovalStatus.DISABLED,
}


def campaigns(get: Callable[[str, str], http.Json], service: str) -> Iterator[Approval]:
    path = f"/v1/Services/{quote(service, safe='')}/Compliance/Usa2p?PageSize=20"
    for row in http.objects(get(path, "messaging").get("compliance")):
        word = (http.text(row.get("campaign_status")) or "").upper()
        use_case = http.text(row.get("us_app_to_person_usecase")) or ""
        errors = (http.redact(one.get("description")) for one in http.objects(row.get("errors")))
        yield Approval(
            ApprovalKind.CAMPAIGN,
            " ".join(filter(None, (http.text(row.get("sid")), use_case))),
            _STATUSES.get(word, ApprovalStatus.PENDING),
            word=word,
            reason="; ".join(filter(None, errors)),
        )
