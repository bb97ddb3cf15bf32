-- The columns of counts by four dimensions at once. One phone represents its country, which SQL
-- cannot determine. Seven characters tell apart the countries of one calling code.
--: by_dimension
CASE GROUPING(channel, prefix, purpose, api_key) WHEN 7 THEN 'channel' WHEN 11 THEN 'country'
  WHEN 13 THEN 'purpose' ELSE 'api_key' END AS dimension,
CASE GROUPING(channel, prefix, purpose, api_key) WHEN 7 THEN channel WHEN 11 THEN min(phone)
  WHEN 13 THEN purpose ELSE api_key END AS value

-- The four groupings that `by_dimension` tells apart.
--: groups
GROUP BY GROUPING SETS ((company_id, mode, channel), (company_id, mode, prefix),
  (company_id, mode, purpose), (company_id, mode, api_key))

-- A code sent in several messages counts once, for the delivered one. A link's row is looked up by
-- id for the messages that carry a link.
--: steps
WITH sent AS (
  SELECT message.company_id, message.mode, message.channel, left(message.phone, 7) AS prefix,
    message.phone,
    COALESCE({purpose}, '') AS purpose,
    COALESCE(message.api_key_id::text, '') AS api_key,
    message.state = 'delivered' AS is_delivered,
    message.state = 'delivered' OR message.sent_at IS NOT NULL AS is_handed_over,
    message.content IN ('code_with_link', 'link') AS has_link,
    CASE WHEN message.content IN ('code_with_link', 'link') THEN EXISTS (
      SELECT FROM links_link link WHERE link.message_id = message.id AND link.clicked_at IS NOT NULL
        AND link.id = CASE message.kind WHEN 'link' THEN message.subject_id
          ELSE (message.params ->> 'link')::uuid END) ELSE false END AS is_opened,
    verification.id IS NOT NULL AND {is_outcome_known} AND 1 = row_number() OVER (
      PARTITION BY message.company_id, message.mode, verification.id
      ORDER BY message.state = 'delivered' DESC, message.created_at DESC, message.id DESC
    ) AS is_code,
    verification.verified_at IS NOT NULL AS is_entered
  FROM channels_message message LEFT JOIN otp_verification verification
    ON verification.id = message.subject_id AND message.kind = 'code'
    AND verification.id >= %(first_code)s AND verification.id < %(last_id)s
  WHERE message.created_at >= %(start)s AND message.created_at < %(end)s AND {messages})
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
  SELECT wallet.company_id, 'live' AS mode, COALESCE(message.channel, '') AS channel,
    left(COALESCE(message.phone, ''), 7) AS prefix, COALESCE(message.phone, '') AS phone,
    COALESCE({purpose}, '') AS purpose,
    COALESCE(message.api_key_id::text, '') AS api_key, transfer.amount,
    transfer.kind = 'capture' AS is_capture
  FROM billing_wallet wallet
  CROSS JOIN LATERAL (
    SELECT message_id, amount, kind FROM billing_transfer WHERE company_id = wallet.company_id
      AND kind IN ('capture', 'release')
      AND created_at >= %(start)s AND created_at < %(end)s) AS transfer
  LEFT JOIN channels_message message
    ON message.id = transfer.message_id AND message.id >= %(first_message)s
      AND message.id < %(last_id)s
  LEFT JOIN otp_verification verification ON verification.id = message.subject_id
    AND message.kind = 'code'
    AND verification.id >= %(first_message)s AND verification.id < %(last_id)s
  WHERE {wallets})
SELECT company_id, mode, {by_dimension},
  0 AS requested, 0 AS handed_over, 0 AS delivered, 0 AS linked, 0 AS opened, 0 AS codes,
  0 AS entered,
  count(*) FILTER (WHERE is_capture) AS charged,
  COALESCE(sum(amount) FILTER (WHERE is_capture), 0)::bigint AS spent,
  COALESCE(sum(amount) FILTER (WHERE NOT is_capture), 0)::bigint AS returned
FROM settled {groups}
