-- The reason why no code was checked; read only after `check.sql` returned no row. {which}: the
-- newest code of the phone, or the given id.
--: refusal_state
SELECT verified_at IS NOT NULL AS is_used, expires_at <= now() AS is_expired,
       attempts >= max_attempts OR guesses = 0 AS is_exhausted,
       cancelled_at IS NOT NULL AS is_cancelled,
       superseded_at IS NOT NULL AND superseded_at < expires_at AS is_superseded,
       binding IS DISTINCT FROM %(binding)s::jsonb AS is_bound_otherwise
FROM otp_verification, otp_guess_cap(%(company_id)s, %(mode)s::text, %(phone)s::text,
                                     %(failed_hour)s::int, %(failed_day)s::int,
                                     :first_id, :last_id)
WHERE company_id = %(company_id)s AND mode = %(mode)s::text AND phone = %(phone)s::text
  AND purpose = %(purpose)s::text AND {which} AND id BETWEEN :first_id AND :last_id
ORDER BY id DESC LIMIT 1

-- The phone and purpose of a company's verification.
--: phone_of_id
SELECT phone, purpose FROM otp_verification
WHERE id = %(verification_id)s AND company_id = %(company_id)s AND mode = %(mode)s::text

-- Seconds until the cap on wrong guesses lets a new code be sent: until enough of them are older
-- than an hour and a day, or the last one is older than an hour.
--: seconds_until_allowed
SELECT EXTRACT(epoch FROM LEAST(
  GREATEST(
    max(judged_at) FILTER (WHERE running_total >= %(failed_hour)s) + interval '1 hour',
    max(judged_at) FILTER (WHERE running_total >= %(failed_day)s) + interval '24 hours',
    now()),
  CASE WHEN max(judged_at) FILTER (WHERE verified_at IS NULL)
            > COALESCE(max(verified_at), '-infinity')
       THEN max(judged_at) FILTER (WHERE verified_at IS NULL) + interval '1 hour'
       ELSE now() END) - now())::float
FROM (
  SELECT judged_at, verified_at,
    sum(attempts - (verified_at IS NOT NULL)::int) OVER (ORDER BY judged_at DESC) AS running_total
  FROM otp_verification
  WHERE company_id = %(company_id)s AND mode = %(mode)s::text AND phone = %(phone)s::text
    AND judged_at > now() - interval '24 hours' AND id BETWEEN :first_id AND :last_id) AS recent
