"""The calls of codes that go on: by the next channel, or reported as entered. Declared."""

from django.utils.translation import gettext_lazy as _

from accounts.models import Scope
from api.calls import Call, Field, nullable, text
from catalogue.errors import Error
from channels.web.fields import SENT_REFUSALS
from channels.web.send_view import status_text
from otp.web.calls import OWN_CODE_SCHEMA, PURPOSE, SEND_CODE, VERIFICATION, VERIFIED_PHONE
from parsing import clipboard

NEXT_CHANNEL = Call(
    "POST",
    "/otp/{id}/next",
    "sendByNextChannel",
    _("Send by the next channel"),
    _(
        "Sends the same code by the next channel now: “send it by SMS instead”. A message with a "
        "fallback chain takes its next step, as if its patience had ended; without one, the code "
        "is sent by the first channel of your order that has not carried it yet. The cool-down "
        "does not hold it, attempts and expiry stay as they are. If no channel is left, the answer "
        "is `channel_unavailable`."
    ),
    Scope.OTP,
    message=status_text("code", "sms", "queued"),
    answer=SEND_CODE.answer,
    own_example={"channel": "sms", "status": "queued", "cost": 16},
    refusals=(
        *SENT_REFUSALS,
        Error.NOT_FOUND,
        Error.CODE_EXPIRED,
        Error.CODE_USED,
        Error.RESEND_TOO_SOON,
        Error.TOO_MANY_ATTEMPTS,
        Error.CHALLENGE_REQUIRED,
    ),
)

REPORTED_ID = Field(
    "id",
    nullable(text(pattern="^(msg|otp)_[0-9a-f]{32}$")),
    _("The `id` or the `verification` of the send, in place of `phone` and `code`."),
    required=False,
    error=_("The id of a message or of a verification, `msg_` or `otp_` and 32 digits"),
)
REPORTED_CODE = Field(
    "code",
    nullable(OWN_CODE_SCHEMA),
    _("With `phone`: the code that was entered. A wrong one spends an attempt."),
    "4821",
    required=False,
    error=_("A string of 4 to 10 Latin letters or digits"),
    reading=clipboard.code,
)
FEEDBACK = Call(
    "POST",
    "/otp/feedback",
    "reportEntered",
    _("Report an entered code"),
    _(
        "Tells within a day that a code of your own was entered right: it proves the delivery, and "
        "routing and protection learn from it. Only for sends with `code`; ours are checked by "
        "`/otp/verify`. A repeat changes nothing. Report all of them or none: while you report, a "
        "code that was not reported counts as not entered, until seven days after your last report."
    ),
    Scope.OTP,
    message=_("Thank you: the code counts as entered"),
    body=(VERIFIED_PHONE, REPORTED_ID, REPORTED_CODE, PURPOSE),
    one_of=("phone", "id"),
    answer=VERIFICATION,
    refusals=(
        Error.INVALID_INPUT,
        Error.INVALID_PHONE,
        Error.NOT_FOUND,
        Error.CODE_INVALID,
        Error.CODE_EXPIRED,
        Error.CODE_USED,
        Error.CODE_NOT_FOUND,
        Error.TOO_MANY_ATTEMPTS,
    ),
)

CALLS = (NEXT_CHANNEL, FEEDBACK)
