SELECT verified_at IS NOT NULL AS is_used, expires_at <= now() AS is_expired, attempts >=
  max_attempts OR guesses = 0 AS is_exhausted
FROM otp_verification, otp_guess_cap(%(company_id)s, %(mode)s::text, %(phone)s::text,
  %(failed_hour)s::int, %(failed_day)s::int, :first_id, :last_id)
WHERE company_id = %(company_id)s AND mode = %(mode)s::text AND phone = %(phone)s::text AND purpose
  = %(purpose)s::text AND superseded_at IS NULL AND id BETWEEN :first_id AND :last_id
ORDER BY id DESC
LIMIT 1
