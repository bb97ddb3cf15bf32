-- Returns how many more wrong codes this phone may enter, over all its codes and purposes: up to
-- the hourly and the daily cap. After the cap: one guess per hour; a correct code allows one more.
-- `latest`: the time of the last guess. Like `otp_spend_attempt`, it reads only the months that the
-- caller names.
CREATE OR REPLACE FUNCTION otp_guess_cap(
  p_company_id bigint, p_mode text, p_phone text, p_hourly int, p_daily int,
  p_first_id uuid, p_last_id uuid)
RETURNS TABLE (guesses int, latest timestamptz)
LANGUAGE sql STABLE ROWS 1 AS $$
SELECT GREATEST(LEAST(p_hourly - hour, p_daily - day)::int,
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
        WHERE company_id = p_company_id AND mode = p_mode AND phone = p_phone
          AND judged_at > now() - interval '24 hours'
          AND id BETWEEN p_first_id AND p_last_id) AS recent) AS counted
$$;
