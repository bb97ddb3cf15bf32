"""Conditions on custom codes, which are evidence only while their company reports entered ones.

By them the guard, the router and the history decide whether a code without a report counts as not
entered.
"""

from datetime import timedelta

OF_ANY_CODE = "message.content IN ('code', 'code_with_text', 'custom_digits', 'custom_code')"
# Longer than the seven days below plus the time from a code to its report.
REPORTED_WITHIN = timedelta(days=8)
_IS_CUSTOM = (
    "(message.content IN ('custom_digits', 'custom_code') OR message.params ? 'custom_code')"
)


def is_outcome_known(at: str, *, is_custom: str = _IS_CUSTOM) -> str:
    """The SQL condition that the outcome of the code of a `message` is known at `at`.

    It is if the code is derived, or if the company reported a custom code as entered within the
    seven days before `at`.
    """
    return f"""(NOT COALESCE({is_custom}, false) OR EXISTS (
  SELECT FROM otp_verification reported
  WHERE reported.company_id = message.company_id AND reported.mode = message.mode
    AND reported.is_custom AND reported.verified_at > {at} - interval '7 days'
    AND reported.verified_at <= {at} AND reported.id >= %(first_reported)s OFFSET 0))"""


KNOWN_AT_ITS_END = is_outcome_known(
    "GREATEST(verification.verified_at, verification.created_at + interval '15 minutes')",
    is_custom="verification.is_custom",
)
