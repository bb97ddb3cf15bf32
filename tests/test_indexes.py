"""No index next to another that answers the same queries: each costs every row that is written."""

import pytest

from tests.sql import execute

# An index whose columns begin another one of its table, under the same condition. Equal columns
# with two classes of operators (`_like`) count as the same.
_COVERED = """
SELECT covered.indexrelid::regclass::text, min(other.indexrelid::regclass::text)
FROM pg_index covered JOIN pg_index other
  ON other.indrelid = covered.indrelid AND other.indexrelid <> covered.indexrelid
JOIN pg_class ON pg_class.oid = covered.indrelid AND relnamespace = 'public'::regnamespace
WHERE NOT covered.indisunique AND covered.indexprs IS NULL AND other.indexprs IS NULL
  AND pg_get_expr(covered.indpred, covered.indrelid)
    IS NOT DISTINCT FROM pg_get_expr(other.indpred, other.indrelid)
  AND other.indkey::text || ' ' LIKE covered.indkey::text || ' %'
  AND (other.indisunique OR covered.indkey::text <> other.indkey::text
       OR covered.indexrelid > other.indexrelid)
GROUP BY 1
"""
FOREIGN_KEY = "Django's, of a foreign key; the table has a few rows for each company"
# Covered all the same, each with the reason why it stays.
KEPT = {
    "mail_key_prefix": "budget warnings find their mails by the key's beginning",
    "accounts_member_company_id_8770caab": FOREIGN_KEY,
    "links_stop_company_id_ff2d9cb0": FOREIGN_KEY,
    "otp_codetext_company_id_e0efbb09": FOREIGN_KEY,
    "endpoint_of_company": "few rows for each company",
}
# Those of Django's own apps and allauth, whose migrations are not ours.
OTHERS = ("auth_", "account_", "django_", "mfa_", "socialaccount_", "accounts_user_")


@pytest.mark.django_db
def test_no_index_is_covered_by_another() -> None:
    covered = {name: by for name, by in execute(_COVERED) if not name.startswith(OTHERS)}

    assert {name: by for name, by in covered.items() if name not in KEPT} == {}
    assert set(KEPT) - set(covered) == set()
