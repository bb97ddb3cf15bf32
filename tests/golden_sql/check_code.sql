SELECT judged_id, right_at, attempts_left
FROM otp_judge( %(company_id)s, %(mode)s::text, %(phone)s::text, %(purpose)s::text,
  %(macs)s::bytea[], %(failed_hour)s::int, %(failed_day)s::int, :first_id, :last_id)
WHERE judged_id IS NOT NULL
