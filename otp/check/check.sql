-- Spends an attempt of each guess and consumes correct codes: one round trip, one commit. Checks
-- of one phone are serialised, so they share neither an attempt nor a success, and never exceed
-- the cap: `otp_spend_attempt`, of `otp/check/spend_attempt.sql`, waits for its turn. There is no
-- row for a guess whose code cannot be checked.
--
-- {is_alone}: true for a single guess. A group skips guesses whose code or advisory lock another
-- transaction holds. Skipped guesses are retried one by one, so groups never wait.

--: one_guess
WITH guesses AS NOT MATERIALIZED (
  SELECT %(number)s::int AS number, %(company_id)s::bigint AS company_id, %(mode)s::text AS mode,
    %(phone)s::text AS phone, %(purpose)s::text AS purpose, %(macs)s::bytea[] AS macs,
    %(verification_id)s::uuid AS verification_id, %(binding)s::jsonb AS binding),

--: several_guesses
WITH guesses AS MATERIALIZED (
  SELECT * FROM json_to_recordset(%(guesses)s::json) AS guess(
    number int, company_id bigint, mode text, phone text, purpose text, macs bytea[],
    verification_id uuid, binding jsonb)
  LIMIT json_array_length(%(guesses)s::json)),

--: check
unlocked AS MATERIALIZED (
  SELECT * FROM guesses guess
  WHERE {is_alone} OR (
    EXISTS (
      SELECT FROM otp_verification code
      WHERE code.company_id = guess.company_id AND code.mode = guess.mode
        AND code.phone = guess.phone
        AND code.purpose = guess.purpose AND code.superseded_at IS NULL
        AND code.id BETWEEN :first_id AND :last_id
      FOR NO KEY UPDATE SKIP LOCKED)
    AND pg_try_advisory_xact_lock(
      hashtextextended('guess:' || company_id || ':' || mode || ':' || phone, 0))))
SELECT number, judged_id AS verification_id, right_at AS verified_at, attempts_left
FROM unlocked CROSS JOIN LATERAL otp_spend_attempt(company_id, mode, phone, purpose, macs,
  verification_id, binding, %(failed_hour)s::int, %(failed_day)s::int, :first_id, :last_id)
WHERE judged_id IS NOT NULL
