"""The cap on wrong guesses, inside the statement that judges one.

A function, because only its inner statements see what was committed while it waited for the lock:
one plain statement counts with the snapshot it began with.
"""

from django.db import migrations

# How many more wrong codes a phone may have judged at one company, whatever the purpose; `latest` is
# when one was judged last. Past the cap there is one an hour, and one after each right code, so that
# strangers who guess cannot keep the phone's owner out.
CAP = """
CREATE FUNCTION otp_guess_cap(
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
          AND judged_at > now() - interval '24 hours') AS lately) AS counted
$$"""

# Spends an attempt and, if the code is right, consumes it. Guesses at one phone take turns at the
# lock; the cap is counted after it is held, and so with every guess before. Their times keep the
# order of their turns, which their beginnings need not.
JUDGE = """
CREATE FUNCTION otp_judge(
  of_company bigint, of_mode text, of_phone text, of_purpose text, macs bytea[],
  hourly int, daily int,
  OUT judged_id uuid, OUT right_at timestamptz, OUT attempts_left int)
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(
    hashtextextended('guess:' || of_company || ':' || of_mode || ':' || of_phone, 0));
  UPDATE otp_verification AS v SET attempts = v.attempts + 1, judged_at = cap.turn,
    verified_at = CASE WHEN v.mac = ANY(macs) THEN cap.turn END
  FROM (SELECT guesses, GREATEST(now(), latest + interval '1 microsecond') AS turn
        FROM otp_guess_cap(of_company, of_mode, of_phone, hourly, daily)) AS cap
  WHERE v.company_id = of_company AND v.mode = of_mode AND v.phone = of_phone
    AND v.purpose = of_purpose AND v.superseded_at IS NULL
    AND v.verified_at IS NULL AND v.expires_at > now() AND v.attempts < v.max_attempts
    AND cap.guesses > 0
  RETURNING v.id, v.verified_at, LEAST(v.max_attempts - v.attempts, cap.guesses - 1)
  INTO judged_id, right_at, attempts_left;
END $$"""

REMOVE = """
DROP FUNCTION otp_judge(bigint, text, text, text, bytea[], int, int);
DROP FUNCTION otp_guess_cap(bigint, text, text, int, int);
"""


class Migration(migrations.Migration):
    dependencies = [("otp", "0003_over_early")]
    operations = [
        migrations.RunSQL([CAP, JUDGE], REMOVE),
    ]
