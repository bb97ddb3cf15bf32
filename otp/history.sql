-- Reads the values of four dimensions at once. One phone represents its country, which SQL cannot
-- determine. Seven characters tell apart the countries of one calling code.
--: by_dimension
CASE GROUPING(channel, prefix, purpose, api_key) WHEN 7 THEN 'channel' WHEN 11 THEN 'country'
  WHEN 13 THEN 'purpose' ELSE 'api_key' END AS dimension,
CASE GROUPING(channel, prefix, purpose, api_key) WHEN 7 THEN channel WHEN 11 THEN min(phone)
  WHEN 13 THEN purpose ELSE api_key END AS value

--: groups
GROUP BY GROUPING SETS ((company_id, mode, channel), (company_id, mode, prefix),
  (company_id, mode, purpose), (company_id, mode, api_key))

-- A code sent in several messages counts once, for the delivered one. A link's row is looked up by
-- id for the messages that carry a link.
--: steps
WITH sent AS (
  SELECT m.company_id, m.mode, m.channel, left(m.phone, 7) AS prefix, m.phone,
    COALESCE(v.purpose, '') AS purpose, COALESCE(m.api_key_id::text, '') AS api_key,
    m.state = 'delivered' AS is_delivered,
    m.state = 'delivered' OR m.sent_at IS NOT NULL AS is_handed_over,
    m.content IN ('code_with_link', 'link') AS has_link,
    CASE WHEN m.content IN ('code_with_link', 'link') THEN EXISTS (
      SELECT FROM links_link l WHERE l.message_id = m.id AND l.clicked_at IS NOT NULL
        AND l.id = CASE m.kind WHEN 'link' THEN m.subject_id
          ELSE (m.params ->> 'link')::uuid END) ELSE false END AS is_opened,
    v.id IS NOT NULL AND {is_outcome_known} AND 1 = row_number() OVER (
      PARTITION BY m.company_id, m.mode, v.id
      ORDER BY m.state = 'delivered' DESC, m.created_at DESC, m.id DESC) AS is_code,
    v.verified_at IS NOT NULL AS is_entered
  FROM channels_message m LEFT JOIN otp_verification v ON v.id = m.subject_id
    AND m.kind = 'code' AND v.id >= %(first_code)s AND v.id < %(last_code)s
  WHERE m.created_at >= %(start)s AND m.created_at < %(end)s AND {messages})
SELECT company_id, mode, {by_dimension},
  count(*) AS requested,
  count(*) FILTER (WHERE is_handed_over) AS handed_over,
  count(*) FILTER (WHERE is_delivered) AS delivered,
  count(*) FILTER (WHERE has_link AND (is_delivered OR is_opened)) AS linked,
  count(*) FILTER (WHERE is_opened) AS opened,
  count(*) FILTER (WHERE is_code) AS codes,
  count(*) FILTER (WHERE is_code AND is_entered) AS entered,
  0 AS charged, 0 AS spent, 0 AS returned
FROM sent {groups}

-- Filters by the day of the settlement, as the statement does. Joins through the wallets, because
-- transfers have an index by company.
--: settled
WITH settled AS (
  SELECT w.company_id, 'live' AS mode, COALESCE(m.channel, '') AS channel,
    left(COALESCE(m.phone, ''), 7) AS prefix, COALESCE(m.phone, '') AS phone,
    COALESCE(v.purpose, '') AS purpose, COALESCE(m.api_key_id::text, '') AS api_key, t.amount,
    t.kind = 'capture' AS is_capture
  FROM billing_wallet w
  CROSS JOIN LATERAL (
    SELECT message_id, amount, kind FROM billing_transfer WHERE company_id = w.company_id
      AND kind IN ('capture', 'release') AND created_at >= %(start)s AND created_at < %(end)s) AS t
  LEFT JOIN channels_message m
    ON m.id = t.message_id AND m.id >= %(first_message)s AND m.id < %(last_code)s
  LEFT JOIN otp_verification v ON v.id = m.subject_id AND m.kind = 'code'
    AND v.id >= %(first_message)s AND v.id < %(last_code)s
  WHERE {wallets})
SELECT company_id, mode, {by_dimension},
  0 AS requested, 0 AS handed_over, 0 AS delivered, 0 AS linked, 0 AS opened, 0 AS codes,
  0 AS entered,
  count(*) FILTER (WHERE is_capture) AS charged,
  COALESCE(sum(amount) FILTER (WHERE is_capture), 0)::bigint AS spent,
  COALESCE(sum(amount) FILTER (WHERE NOT is_capture), 0)::bigint AS returned
FROM settled {groups}
