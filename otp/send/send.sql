-- Sends codes. `requested` has a row per send: JSON for a group, parameters for a single send. A
-- single send waits for locks; a group skips locked rows, and what it skips or refuses runs again
-- as a single send. One statement, one commit.
--
-- A live code with time and attempts left is repeated, unless the send asks for another length or
-- is bound to something else; otherwise a new verification supersedes it.
-- A custom code, whose MACs are in `custom_macs`, is resent only if it is the live one.
-- Nothing is written unless the wallet paid: every insert reads from `payer`. The unique index on
-- the live row, not this statement, keeps parallel sends from making two live codes: the loser
-- retries.
--
-- Lock order: verification, wallet, inserts. Placeholders: {skip_locked}, {is_alone};
-- {message_columns}: the columns of every message; {blocking_row}: a query of `blocked_phones`;
-- {payer}: CTEs that charge the wallet and return the paid rows of `allowed`; {message}: the insert
-- of the messages; {more}: the inserts of holds, links and Idempotency-Keys.
-- `:first_id`, `:last_id`: the months to read, from `storage/months/recent_ids.py`.
WITH requested AS MATERIALIZED (
  SELECT * FROM json_to_recordset(%(requested)s::json) AS n(
    number int, {message_columns},
    verification_id uuid, purpose text, mac bytea, key_id text, length int, requested_length int,
    lifetime int, binding jsonb, custom_macs bytea[], params jsonb)
  LIMIT json_array_length(%(requested)s::json)),
live AS (  -- locked before the wallet, so it shows the last check's result
  SELECT n.number, code.* FROM requested n CROSS JOIN LATERAL (
    SELECT v.id, v.expires_at, v.expires_at - v.created_at AS life,
      v.max_attempts - v.attempts AS attempts_left, v.key_id, v.length,
      v.verified_at IS NULL AND v.attempts < v.max_attempts AND v.key_id = ANY(%(key_ids)s::text[])
        AND v.expires_at >= now() + LEAST(make_interval(secs => %(resend_margin)s),
                                          (v.expires_at - v.created_at) / 2)
        AND v.length = COALESCE(n.requested_length, v.length)
        AND v.binding IS NOT DISTINCT FROM n.binding
        AND CASE WHEN v.is_custom THEN v.mac = ANY(n.custom_macs) ELSE n.custom_macs IS NULL END
        AS is_current
    FROM otp_verification v
    WHERE v.company_id = n.company_id AND v.mode = n.mode AND v.phone = n.phone
      AND v.purpose = n.purpose AND v.superseded_at IS NULL
      AND v.id BETWEEN :first_id AND :last_id
    FOR NO KEY UPDATE {skip_locked}) AS code),
checked AS MATERIALIZED (  -- a concurrent check may lower the cap; `check.sql` counts exactly
  SELECT n.*, cap.guesses, s.id IS NOT NULL AS is_current,
    COALESCE(s.id, n.verification_id) AS subject_id,
    COALESCE(s.key_id, n.key_id) AS code_key, COALESCE(s.length, n.length) AS code_length,
    -- A code of a parallel send may be younger than this statement's time.
    COALESCE(LEAST(s.expires_at, now() + s.life),
             now() + make_interval(secs => n.lifetime)) AS ends_at,
    LEAST(COALESCE(s.attempts_left, %(max_attempts)s), cap.guesses) AS attempts_left,
    EXISTS ({blocking_row} OFFSET 0) AS is_blocked,
    {is_alone} OR (
      NOT EXISTS (  -- another transaction has locked its code
        SELECT FROM otp_verification v
        WHERE v.company_id = n.company_id AND v.mode = n.mode AND v.phone = n.phone
          AND v.purpose = n.purpose AND v.superseded_at IS NULL
          AND v.id BETWEEN :first_id AND :last_id AND v.id NOT IN (SELECT id FROM live)
        OFFSET 0)
      AND NOT EXISTS (  -- sent before: its insert would fail the whole group
        SELECT FROM api_idempotentrequest k
        WHERE k.company_id = n.company_id AND k.mode = n.mode AND k.path = n.idem_path
          AND k.key = n.idem_key
        OFFSET 0)) AS is_free
  FROM requested n
  LEFT JOIN LATERAL (
    SELECT * FROM live WHERE live.number = n.number AND is_current LIMIT 1) AS s ON true
  CROSS JOIN LATERAL otp_guess_cap(n.company_id, n.mode, n.phone, %(failed_hour)s::int,
                                   %(failed_day)s::int, :first_id, :last_id) AS cap),
allowed AS NOT MATERIALIZED (
  SELECT *, params || jsonb_build_object('key', code_key, 'length', code_length, 'minutes',
      GREATEST(1, floor(EXTRACT(epoch FROM ends_at - now()) / 60))::int) AS message_params,
    GREATEST(ends_at, now() + make_interval(secs => %(least_use)s)) AS useful_until
  FROM checked WHERE NOT is_blocked AND guesses > 0 AND is_free),
{payer},
superseded AS (
  UPDATE otp_verification v SET superseded_at = now(),  -- an expired code needs no settlement
    settled_at = CASE WHEN v.verified_at IS NULL AND v.expires_at <= now() THEN now()
                      ELSE v.settled_at END
  FROM live
  WHERE v.id = live.id AND v.id BETWEEN :first_id AND :last_id
    AND live.number IN (SELECT number FROM payer WHERE NOT is_current)
  RETURNING v.id),
new_verification AS (
  INSERT INTO otp_verification (id, company_id, mode, phone, purpose, mac, key_id, length,
                                max_attempts, expires_at, binding, is_custom)
  SELECT subject_id, company_id, mode, phone, purpose, mac, key_id, length, %(max_attempts)s,
    ends_at, binding, custom_macs IS NOT NULL
  FROM payer, (SELECT count(*) FROM superseded) AS first_step  -- read, so that it runs first
  WHERE NOT is_current),
message AS ({message}){more}
SELECT number, EXISTS (SELECT FROM payer WHERE payer.number = checked.number) AS is_paid,
  is_blocked, guesses = 0 AS is_capped, EXTRACT(epoch FROM ends_at - now())::float AS expires_in,
  attempts_left, subject_id AS verification_id
FROM checked
