-- Sends to known phones, by one index lookup per send, whatever the planner estimates: all codes
-- of the phone remembered at that time, and its newest few messages.
--: of_sends
SELECT sends.company_id, sends.phone, sends.created,
  (SELECT count(*) FROM (
    SELECT FROM channels_message
    WHERE company_id = sends.company_id AND phone = sends.phone AND mode = 'live'
      AND kind = 'code' AND id >= %(first)s AND created_at < to_timestamp(sends.created)
      AND created_at > LEAST(code.latest, to_timestamp(sends.created) - %(known_after)s::interval)
    LIMIT %(known_codes)s) AS message) < %(known_codes)s AS passes
FROM unnest(%(companies)s::bigint[], %(phones)s::text[], %(created)s::float[])
    AS sends(company_id, phone, created)
  CROSS JOIN LATERAL (
    SELECT min(verified_at) AS first,
      max(verified_at) FILTER (WHERE verified_at < to_timestamp(sends.created)) AS latest
    FROM otp_verification
    WHERE company_id = sends.company_id AND phone = sends.phone AND mode = 'live'
      AND judged_at >= %(remembered)s AND id >= %(first)s) AS code
WHERE code.first < to_timestamp(sends.created) - %(known_after)s::interval

-- The same for phones at a moment: a company's codes of each, and times of its newest messages.
--: histories
SELECT phones.phone, EXTRACT(epoch FROM code.first)::float, EXTRACT(epoch FROM code.latest)::float,
  ARRAY(
    SELECT EXTRACT(epoch FROM created_at)::float FROM channels_message
    WHERE company_id = %(company_id)s AND phone = phones.phone AND mode = 'live'
      AND kind = 'code' AND id >= %(first)s AND created_at < %(moment)s
      AND created_at > LEAST(code.latest, %(moment)s::timestamptz - %(known_after)s::interval)
    ORDER BY created_at DESC LIMIT %(known_codes)s) AS sent
FROM unnest(%(phones)s::text[]) AS phones(phone)
  CROSS JOIN LATERAL (
    SELECT min(verified_at) AS first, max(verified_at) AS latest
    FROM otp_verification
    WHERE company_id = %(company_id)s AND phone = phones.phone AND mode = 'live'
      AND judged_at >= %(remembered)s AND verified_at < %(moment)s AND id >= %(first)s) AS code
WHERE code.first IS NOT NULL
