"""Every call of the public API, as its documentation shows it."""

from api_docs.calls import batches, codes, links, managed_links, messages, money, webhooks
from api_docs.calls.shapes import Call

CALLS: tuple[Call, ...] = (
    *codes.CALLS,
    *links.CALLS,
    *batches.CALLS,
    *managed_links.CALLS,
    *messages.CALLS,
    *money.CALLS,
    *webhooks.CALLS,
)
BY_ROUTE = {(call.method, call.path): call for call in CALLS}
BY_NAME = {call.name: call for call in CALLS}
