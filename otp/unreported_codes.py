"""Custom codes are evidence only while their company reports which codes were entered.

The guard, the router and the history ask here whether a code without a report may count as not
entered.
"""

from datetime import timedelta

OF_ANY_CODE = "m.content IN ('code', 'code_with_text', 'custom_digits', 'custom_code')"
# Longer than the seven days below plus the time from a code to its report.
REPORTED_WITHIN = timedelta(days=8)
_IS_CUSTOM = "(m.content IN ('custom_digits', 'custom_code') OR m.params ? 'custom_code')"


def is_outcome_known(at: str, *, is_custom: str = _IS_CUSTOM) -> str:
    """The SQL condition on the message `m` of a code: the code is derived, or the company reported
    a custom code as entered within the seven days before `at`.
    """
    return f"""(NOT COALESCE({is_custom}, false) OR EXISTS (
  SELECT FROM otp_verification r WHERE r.company_id = m.company_id AND r.is_custom
    AND r.verified_at > {at} - interval '7 days' AND r.verified_at <= {at} AND r.mode = m.mode
    AND r.id >= %(first_reported)s OFFSET 0))"""


KNOWN_AT_ITS_END = is_outcome_known(
    "GREATEST(v.verified_at, v.created_at + interval '15 minutes')", is_custom="v.is_custom"
)
