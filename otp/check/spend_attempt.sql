-- Spends one attempt of the live code and consumes the code if the guess is correct.
-- Guesses at one phone are serialised. When a month begins, two sends may leave a live code in each
-- month: a guess counts for both, and either may match. A guess with an id counts for that code
-- alone. The guess must carry the code's `binding`, or none if the code has none; otherwise it
-- finds no code.
CREATE OR REPLACE FUNCTION otp_spend_attempt(
  p_company_id bigint, p_mode text, p_phone text, p_purpose text, p_macs bytea[],
  p_verification_id uuid, p_binding jsonb, p_hourly int, p_daily int,
  p_first_id uuid, p_last_id uuid,
  OUT judged_id uuid, OUT right_at timestamptz, OUT attempts_left int)
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(
    hashtextextended('guess:' || p_company_id || ':' || p_mode || ':' || p_phone, 0));
  WITH judged AS (
  UPDATE otp_verification AS verification
  SET attempts = verification.attempts + 1, judged_at = cap.checked_at,
    verified_at = CASE WHEN verification.mac = ANY(p_macs) THEN cap.checked_at END
  FROM (SELECT guesses, GREATEST(now(), latest + interval '1 microsecond') AS checked_at
        FROM otp_guess_cap(
          p_company_id, p_mode, p_phone, p_hourly, p_daily, p_first_id, p_last_id)) AS cap
  WHERE verification.company_id = p_company_id AND verification.mode = p_mode
    AND verification.phone = p_phone
    AND verification.purpose = p_purpose AND verification.superseded_at IS NULL
    AND verification.verified_at IS NULL AND verification.expires_at > now()
    AND verification.attempts < verification.max_attempts
    AND cap.guesses > 0 AND verification.id BETWEEN p_first_id AND p_last_id
    AND (p_verification_id IS NULL OR verification.id = p_verification_id)
    AND verification.binding IS NOT DISTINCT FROM p_binding
  RETURNING verification.id, verification.verified_at,
    LEAST(verification.max_attempts - verification.attempts, cap.guesses - 1) AS guesses_left)
  SELECT id, verified_at, guesses_left INTO judged_id, right_at, attempts_left
  FROM judged ORDER BY verified_at LIMIT 1;
END $$;
