-- Spends one attempt of the live code and consumes the code if the guess is right.
-- Guesses at one phone take turns. At the turn of a month two sends may leave a live code in each
-- month: a guess counts for both, and either is right. One that names an id counts for that code
-- alone. A code that is bound is judged only together with what it is bound to, and one that is not
-- only without: any other guess finds no code.
CREATE OR REPLACE FUNCTION otp_spend_attempt(
  of_company bigint, of_mode text, of_phone text, of_purpose text, macs bytea[],
  of_id uuid, of_binding jsonb, hourly int, daily int, first_id uuid, last_id uuid,
  OUT judged_id uuid, OUT right_at timestamptz, OUT attempts_left int)
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(
    hashtextextended('guess:' || of_company || ':' || of_mode || ':' || of_phone, 0));
  WITH judged AS (
  UPDATE otp_verification AS v SET attempts = v.attempts + 1, judged_at = cap.turn,
    verified_at = CASE WHEN v.mac = ANY(macs) THEN cap.turn END
  FROM (SELECT guesses, GREATEST(now(), latest + interval '1 microsecond') AS turn
        FROM otp_guess_cap(
          of_company, of_mode, of_phone, hourly, daily, first_id, last_id)) AS cap
  WHERE v.company_id = of_company AND v.mode = of_mode AND v.phone = of_phone
    AND v.purpose = of_purpose AND v.superseded_at IS NULL
    AND v.verified_at IS NULL AND v.expires_at > now() AND v.attempts < v.max_attempts
    AND cap.guesses > 0 AND v.id BETWEEN first_id AND last_id
    AND (of_id IS NULL OR v.id = of_id)
    AND v.binding IS NOT DISTINCT FROM of_binding
  RETURNING v.id, v.verified_at, LEAST(v.max_attempts - v.attempts, cap.guesses - 1) AS guesses_left)
  SELECT id, verified_at, guesses_left INTO judged_id, right_at, attempts_left
  FROM judged ORDER BY verified_at LIMIT 1;
END $$;
