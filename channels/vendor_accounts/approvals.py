"""Reads the approval state of our templates and senders at vendors, and stores it."""

from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from operator import attrgetter

import structlog
from django.db import connection, transaction

from channels.models import VendorApproval
from channels.providers.base import Approval, Provider, SendError
from channels.vendor_accounts import registry
from storage.statements import sql_files

log = structlog.get_logger(__name__)
BAD = (
    VendorApproval.Status.REJECTED,
    VendorApproval.Status.PAUSED,
    VendorApproval.Status.DISABLED,
    VendorApproval.Status.MISSING,
)

_UPSERT = sql_files.read("channels/vendor_accounts/approvals.sql")


@dataclass(frozen=True, slots=True)
class ReadResult:
    """The number of approvals of an account; `error` is the vendor's text."""

    found: int | None = None  # None: the vendor has no such list
    error: str = ""


def refresh(names: list[str] | None = None) -> dict[str, ReadResult]:
    """Asks the vendors of these accounts, or of all, in parallel.

    Changes nothing for a vendor without a response.
    """
    live = registry.live_providers()
    hosted = registry.hosted_providers()
    accounts = {
        name: provider
        for name, provider in live.items()
        if name not in hosted and (names is None or name in names)
    }
    return {name: _store_response(name, future) for name, future in _ask(accounts).items()}


def _ask(providers: Mapping[str, Provider]) -> dict[str, "Future[list[Approval] | None]"]:
    with ThreadPoolExecutor(max(1, len(providers)), thread_name_prefix="approvals") as pool:
        return {name: pool.submit(provider.approvals) for name, provider in providers.items()}


def _store_response(name: str, future: "Future[list[Approval] | None]") -> ReadResult:
    try:
        approvals = future.result()
    except SendError as error:
        log.info("approvals_not_read", provider=name, code=error.code)
        return ReadResult(error=str(error))
    except Exception as error:  # one vendor's response must not block the other vendors
        log.exception("approvals_not_understood", provider=name)
        return ReadResult(error=type(error).__name__)
    if approvals is None:
        return ReadResult()
    _store(name, approvals)
    return ReadResult(found=len(approvals))


@transaction.atomic
def _store(name: str, approvals: list[Approval]) -> None:
    """Replaces the stored approvals by the list, sorted so that two refreshes do not deadlock."""
    ordered = sorted(approvals, key=attrgetter("kind", "name", "language"))
    with connection.cursor() as cursor:
        cursor.executemany(_UPSERT, [_approval_row(name, approval) for approval in ordered])
    listed = {_approval_row(name, approval)[1:4] for approval in approvals}
    stored = VendorApproval.objects.filter(provider=name)
    removed = [row.pk for row in stored if (row.kind, row.name, row.language) not in listed]
    VendorApproval.objects.filter(pk__in=removed).delete()


def _approval_row(name: str, approval: Approval) -> tuple[str | bool, ...]:
    return (
        name,
        approval.kind.value,
        approval.name[:120],
        approval.language[:10],
        approval.status.value,
        approval.vendor_status[:40],
        approval.quality[:20],
        approval.reason[:300],
        approval.is_used,
    )
