-- Ids begin with the time, so all ranges are a few pages of primary keys. `last_try`, the time of
-- the last channel, is looked up only for a message that arrived late.
--: columns
m.id, m.company_id, m.phone, m.price, m.subject_id,
COALESCE(m.params->'sender'->>'ip', '') AS ip,
COALESCE(m.params->'sender'->>'device', '') AS device,
EXTRACT(epoch FROM m.created_at)::float AS created,
EXTRACT(epoch FROM CASE WHEN m.delivered_at > m.created_at + make_interval(secs => %(prompt)s)
  THEN (SELECT max(a.started_at) FROM channels_attempt a WHERE a.message_id = m.id)
  ELSE m.created_at END)::float AS last_try,
EXTRACT(epoch FROM m.delivered_at)::float AS delivered,
EXTRACT(epoch FROM v.verified_at)::float AS verified,
{is_outcome_known} AS is_outcome_known,
CASE WHEN m.id < %(recent)s THEN (SELECT n.id FROM channels_message n
    WHERE n.subject_id = m.subject_id AND n.id >= m.id AND n.id < %(last)s
    ORDER BY n.id DESC LIMIT 1)
  ELSE m.id END AS newest_id

--: code
otp_verification v ON v.id = m.subject_id AND v.id >= %(first_code)s AND v.id < %(last)s

--: is_sent_code
m.id >= %(first)s AND m.id < %(last)s AND m.kind = 'code' AND {of_any_code}
AND m.mode = 'live' AND m.phone NOT LIKE '%%*'

--: guarded_company
accounts_company c ON c.id = m.company_id AND c.guard_mode <> 'off'

--: of_all
SELECT {columns} FROM channels_message m JOIN {guarded_company} LEFT JOIN {code}
WHERE {is_sent_code} AND (m.id >= %(recent)s OR m.delivered_at > %(maturing)s)

--: of_company
SELECT {columns} FROM channels_message m LEFT JOIN {code}
WHERE {is_sent_code} AND m.company_id = %(company_id)s
ORDER BY m.id DESC LIMIT %(limit)s

--: entered
SELECT {columns} FROM otp_verification v JOIN channels_message m ON m.subject_id = v.id
  JOIN {guarded_company}
WHERE v.id >= %(first)s AND v.id < %(last)s
  AND v.verified_at > %(since)s AND v.verified_at <= %(until)s AND m.id >= %(first)s
  AND m.kind = 'code' AND {of_any_code} AND m.mode = 'live' AND m.phone NOT LIKE '%%*'
