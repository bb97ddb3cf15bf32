"""Every call of the public API, as its documentation shows it."""

from reference.calls import batches, callbacks, codes, links, made_links, messages, money
from reference.shapes import Call

CALLS: tuple[Call, ...] = (
    *codes.CALLS,
    *links.CALLS,
    *batches.CALLS,
    *made_links.CALLS,
    *messages.CALLS,
    *money.CALLS,
    *callbacks.CALLS,
)
BY_ROUTE = {(call.method, call.path): call for call in CALLS}
BY_NAME = {call.name: call for call in CALLS}
