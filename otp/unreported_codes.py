"""A custom code is evidence only while its company reports which codes were entered.

Guard, router and history ask here whether a code that was not entered may count as such.
"""

from datetime import timedelta

# A fragment, the condition on a message `m` of a code: whether it may count as not entered at a
# time. A custom code only while its company reports which were entered: it did so within seven
# days before.
OF_ANY_CODE = "m.content IN ('code', 'code_with_text', 'custom_digits', 'custom_code')"
_IS_OWN = "(m.content IN ('custom_digits', 'custom_code') OR m.params ? 'custom_code')"


def is_outcome_known(at: str, *, is_own: str = _IS_OWN) -> str:
    return f"""(NOT COALESCE({is_own}, false) OR EXISTS (
  SELECT FROM otp_verification r WHERE r.company_id = m.company_id AND r.is_custom
    AND r.verified_at > {at} - interval '7 days' AND r.verified_at <= {at} AND r.mode = m.mode
    AND r.id >= %(first_reported)s OFFSET 0))"""


# Longer than seven days, with the time from a code to its report.
REPORTED_WITHIN = timedelta(days=8)


KNOWN_AT_ITS_END = is_outcome_known(
    "GREATEST(v.verified_at, v.created_at + interval '15 minutes')", is_own="v.is_custom"
)
