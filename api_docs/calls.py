"""Every call of the public API, in the order of the documentation. Views declare them."""

from api.calls import Call
from billing.web import calls as money
from channels.web import calls as messages
from channels.web.policy import calls as policy
from links.api import calls as links
from otp.web import calls as codes
from otp.web import verification_calls
from persons.web import calls as persons
from webhooks import calls as webhooks

CALLS: tuple[Call, ...] = (
    *codes.CALLS,
    *verification_calls.CALLS,
    *links.CALLS,
    *messages.CALLS,
    *policy.CALLS,
    *money.CALLS,
    *webhooks.CALLS,
    *persons.CALLS,
)
