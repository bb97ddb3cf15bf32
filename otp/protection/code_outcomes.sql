-- Ids begin with the time, so all ranges are a few pages of primary keys. `last_try`, the time of
-- the last channel, is looked up only for a message that arrived late.
--: columns
message.id, message.company_id, message.phone, message.price, message.subject_id,
COALESCE(message.params->'sender'->>'ip', '') AS ip,
COALESCE(message.params->'sender'->>'device', '') AS device,
EXTRACT(epoch FROM message.created_at)::float AS created,
EXTRACT(epoch FROM CASE
  WHEN message.delivered_at > message.created_at + make_interval(secs => %(prompt)s)
  THEN (SELECT max(attempt.started_at) FROM channels_attempt attempt
        WHERE attempt.message_id = message.id)
  ELSE message.created_at END)::float AS last_try,
EXTRACT(epoch FROM message.delivered_at)::float AS delivered,
EXTRACT(epoch FROM verification.verified_at)::float AS verified,
{is_outcome_known} AS is_outcome_known,
CASE WHEN message.id < %(recent)s THEN (SELECT newer.id FROM channels_message newer
    WHERE newer.subject_id = message.subject_id AND newer.id >= message.id AND newer.id < %(last)s
    ORDER BY newer.id DESC LIMIT 1)
  ELSE message.id END AS newest_id

-- The verification of a message, if there is one.
--: code
otp_verification verification ON verification.id = message.subject_id
  AND verification.id >= %(first_code)s AND verification.id < %(last)s

-- The condition that a message is a code to a real phone.
--: is_sent_code
message.id >= %(first)s AND message.id < %(last)s AND message.kind = 'code' AND {of_any_code}
AND message.mode = 'live' AND message.phone NOT LIKE '%%*'

-- The companies that are guarded.
--: guarded_company
accounts_company company ON company.id = message.company_id AND company.guard_mode <> 'off'

-- Messages of all guarded companies: recent ones, and those that arrived late.
--: of_all
SELECT {columns} FROM channels_message message JOIN {guarded_company} LEFT JOIN {code}
WHERE {is_sent_code} AND (message.id >= %(recent)s OR message.delivered_at > %(maturing)s)

-- A company's newest messages.
--: of_company
SELECT {columns} FROM channels_message message LEFT JOIN {code}
WHERE {is_sent_code} AND message.company_id = %(company_id)s
ORDER BY message.id DESC LIMIT %(limit)s

-- Messages whose codes were entered in a period.
--: entered
SELECT {columns} FROM otp_verification verification JOIN channels_message message
  ON message.subject_id = verification.id
  JOIN {guarded_company}
WHERE verification.id >= %(first)s AND verification.id < %(last)s
  AND verification.verified_at > %(since)s AND verification.verified_at <= %(until)s
  AND message.id >= %(first)s
  AND message.kind = 'code' AND {of_any_code} AND message.mode = 'live'
  AND message.phone NOT LIKE '%%*'
