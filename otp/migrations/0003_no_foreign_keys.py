"""Rows of partitioned tables are not looked up when a month of what they refer to is dropped.

The checks also cost every send a lock on its company's row.
"""

from django.db import migrations, models
from django.db.models import deletion

# As before, but of earlier months nothing is looked at.
GUESS_CAP = """
CREATE OR REPLACE FUNCTION otp_guess_cap(
  of_company bigint, of_mode text, of_phone text, hourly int, daily int)
RETURNS TABLE (guesses int, latest timestamptz)
LANGUAGE sql STABLE ROWS 1 AS $$
SELECT GREATEST(LEAST(hourly - hour, daily - day)::int,
                (wrong_at <= right_at OR wrong_at <= now() - interval '1 hour')::int),
       latest
FROM (
  SELECT COALESCE(sum(wrong) FILTER (WHERE judged_at > now() - interval '1 hour'), 0) AS hour,
         COALESCE(sum(wrong), 0) AS day,
         COALESCE(max(judged_at) FILTER (WHERE verified_at IS NULL), '-infinity') AS wrong_at,
         COALESCE(max(verified_at), '-infinity') AS right_at,
         COALESCE(max(judged_at), '-infinity') AS latest
  FROM (SELECT judged_at, verified_at, attempts - (verified_at IS NOT NULL)::int AS wrong
        FROM otp_verification
        WHERE company_id = of_company AND mode = of_mode AND phone = of_phone
          AND judged_at > now() - interval '24 hours' AND id >= uuid7_at(
            date_trunc('month', (now() - interval '3 days') AT TIME ZONE 'UTC') AT TIME ZONE 'UTC')) AS lately) AS counted
$$"""

# As before, but two sends at the turn of a month may leave a live code in each: a guess counts for
# both, and either is right.
JUDGE = """
CREATE OR REPLACE FUNCTION otp_judge(
  of_company bigint, of_mode text, of_phone text, of_purpose text, macs bytea[],
  hourly int, daily int,
  OUT judged_id uuid, OUT right_at timestamptz, OUT attempts_left int)
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(
    hashtextextended('guess:' || of_company || ':' || of_mode || ':' || of_phone, 0));
  WITH judged AS (
  UPDATE otp_verification AS v SET attempts = v.attempts + 1, judged_at = cap.turn,
    verified_at = CASE WHEN v.mac = ANY(macs) THEN cap.turn END
  FROM (SELECT guesses, GREATEST(now(), latest + interval '1 microsecond') AS turn
        FROM otp_guess_cap(of_company, of_mode, of_phone, hourly, daily)) AS cap
  WHERE v.company_id = of_company AND v.mode = of_mode AND v.phone = of_phone
    AND v.purpose = of_purpose AND v.superseded_at IS NULL
    AND v.verified_at IS NULL AND v.expires_at > now() AND v.attempts < v.max_attempts
    AND cap.guesses > 0 AND v.id >= uuid7_at(
      date_trunc('month', (now() - interval '3 days') AT TIME ZONE 'UTC') AT TIME ZONE 'UTC')
  RETURNING v.id, v.verified_at, LEAST(v.max_attempts - v.attempts, cap.guesses - 1) AS guesses_left)
  SELECT id, verified_at, guesses_left INTO judged_id, right_at, attempts_left
  FROM judged ORDER BY verified_at LIMIT 1;
END $$"""

SQUAWK_EXCEPTIONS = {"ban-drop-constraint": "foreign keys alone, which no statement relies on"}


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0005_month_partitions"),
        ("otp", "0002_declared_channels"),
    ]

    operations = [
        # It needs two tables at once: shorter than `deadlock_timeout`, so that of two that wait for
        # each other this one gives up, and tries again.
        migrations.RunSQL("SET LOCAL lock_timeout = '500ms'", migrations.RunSQL.noop),
        migrations.AlterField(
            "Verification",
            "company",
            models.ForeignKey(
                on_delete=deletion.PROTECT,
                to="accounts.company",
                db_constraint=False,
                db_index=False,
                related_name='verifications',
                verbose_name='company',
            ),
        ),
        migrations.RunSQL([GUESS_CAP, JUDGE], migrations.RunSQL.noop),
    ]
