"""No index beside another that answers the same queries: each costs every row that is written."""

import pytest

from tests.sql import execute

# An index whose columns begin another one of its table, under the same condition. Equal columns
# with two classes of operators (`_like`) count as the same.
_COVERED = """
SELECT i.indexrelid::regclass::text, min(j.indexrelid::regclass::text)
FROM pg_index i JOIN pg_index j ON j.indrelid = i.indrelid AND j.indexrelid <> i.indexrelid
JOIN pg_class c ON c.oid = i.indrelid AND c.relnamespace = 'public'::regnamespace
WHERE NOT i.indisunique AND i.indexprs IS NULL AND j.indexprs IS NULL
  AND pg_get_expr(i.indpred, i.indrelid) IS NOT DISTINCT FROM pg_get_expr(j.indpred, j.indrelid)
  AND j.indkey::text || ' ' LIKE i.indkey::text || ' %'
  AND (j.indisunique OR i.indkey::text <> j.indkey::text OR i.indexrelid > j.indexrelid)
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
