"""The approval of an account's templates, with their quality.

https://developers.facebook.com/docs/graph-api/reference/whats-app-business-hsm
"""

from collections.abc import Iterator
from urllib.parse import quote

from channels.providers import http
from channels.providers.base import Approval, ApprovalKind, ApprovalStatus
from channels.providers.whatsapp.checks import GraphClient

FIELDS = "name,language,status,quality_score,rejected_reason"
MAX_PAGES = 20
_NOTHING = {"", "NONE", "UNKNOWN"}
# Others, such as IN_APPEAL, are under review.
_STATUSES = {
    "APPROVED": ApprovalStatus.APPROVED,
    "FLAGGED": ApprovalStatus.APPROVED,  # sent as before, and at risk of a pause
    "REJECTED": ApprovalStatus.REJECTED,
    "PAUSED": ApprovalStatus.PAUSED,
    **dict.fromkeys(
        ("DISABLED", "DELETED", "PENDING_DELETION", "LIMIT_EXCEEDED", "ARCHIVED"),
        ApprovalStatus.DISABLED,
    ),
}


def approvals(graph: GraphClient) -> Iterator[Approval]:
    """Every template of the business account, and what it lacks of those the account uses."""
    account, seen = graph.account, set[tuple[str, str]]()
    used = {(name, language) for name in account.templates for language in account.languages}
    for row in _rows(graph):
        name, language = _text(row, "name"), _text(row, "language")
        if name:
            seen.add((name, language))
            yield _approval(row, name, language, is_used=(name, language) in used)
    for name, language in sorted(used - seen):
        yield Approval(ApprovalKind.TEMPLATE, name, ApprovalStatus.MISSING, language)


def _rows(graph: GraphClient) -> Iterator[http.Json]:
    path = f"{quote(graph.account.business_account)}/message_templates?fields={FIELDS}&limit=100"
    after = ""
    for _page in range(MAX_PAGES):
        answer = graph.get(path + (f"&after={quote(after)}" if after else ""))
        yield from http.objects(answer.get("data"))
        paging = http.mapping(answer.get("paging"))
        after = _text(http.mapping(paging.get("cursors")), "after")
        if not (after and paging.get("next")):
            return


def _approval(row: http.Json, name: str, language: str, *, is_used: bool) -> Approval:
    word = _text(row, "status").upper()
    quality = _text(http.mapping(row.get("quality_score")), "score").upper()
    reason = _text(row, "rejected_reason").upper()
    return Approval(
        ApprovalKind.TEMPLATE,
        name,
        _STATUSES.get(word, ApprovalStatus.PENDING),
        language,
        word=word,
        quality="" if quality in _NOTHING else quality,
        reason="" if reason in _NOTHING else reason,
        is_used=is_used,
    )


def _text(value: http.Json, name: str) -> str:
    return http.text(value.get(name)) or ""
