SELECT number, judged_id, right_at, attempts_left
FROM (
  SELECT *
  FROM (
    SELECT *
    FROM json_to_recordset(%(guesses)s::json) AS n(number int, company_id bigint, mode text, phone
      text, purpose text, macs bytea[])
    LIMIT json_array_length(%(guesses)s::json)) AS n
  WHERE EXISTS (
    SELECT 1
    FROM otp_verification v
    WHERE v.company_id = n.company_id AND v.mode = n.mode AND v.phone = n.phone AND v.purpose =
      n.purpose AND v.superseded_at IS NULL AND v.id BETWEEN :first_id AND :last_id FOR NO KEY
      UPDATE SKIP LOCKED) AND pg_try_advisory_xact_lock( hashtextextended('guess:' || company_id ||
      ':' || mode || ':' || phone, 0)) OFFSET 0) AS free
CROSS
JOIN LATERAL otp_judge(company_id, mode, phone, purpose, macs, %(failed_hour)s::int,
  %(failed_day)s::int, :first_id, :last_id)
WHERE judged_id IS NOT NULL
