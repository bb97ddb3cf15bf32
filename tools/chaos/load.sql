--: calls under way
SELECT count(*) FROM channels_attempt
WHERE state = 'submitting' AND started_at > now() - interval '200 ms'

--: deadlocks
SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()

--: open
SELECT count(*) FROM channels_message WHERE (state IN ('queued', 'sent') OR is_owed)

--: in time: open messages that may still end in time
SELECT count(*) FROM channels_message
WHERE (state IN ('queued', 'sent') OR is_owed) AND deadline > now() - interval '5 s'

--: under way: pending work without a deadline: sends not yet tried, calls, receipts to apply
SELECT (SELECT count(*) FROM channels_message WHERE due_at IS NOT NULL
        AND state IN ('queued', 'sent'))
     + (SELECT count(*) FROM channels_attempt WHERE state = 'submitting' AND lease_until > now())
     + (SELECT count(*) FROM channels_receipt WHERE due_at <= now() + interval '1 second')
     + (SELECT count(*) FROM otp_verification
        WHERE verified_at IS NOT NULL AND settled_at IS NULL)

--: polled: accepted attempts without a receipt that will be polled
SELECT count(*) FROM channels_attempt WHERE state = 'sent' AND poll_at IS NOT NULL

--: age polls
UPDATE channels_attempt SET poll_at = now() WHERE state = 'sent' AND poll_at > now()

--: age leases
UPDATE channels_attempt SET lease_until = now() WHERE state = 'submitting' AND lease_until > now()

--: age deadlines
UPDATE channels_message SET deadline = now(), fallback_at = NULL, chain = '[]'
WHERE (state IN ('queued', 'sent') OR is_owed) AND deadline > now()

--: age statement: a process killed while reading the bank's statement still holds its claim
UPDATE billing_statementmark SET tried_at = tried_at - interval '2 minutes'
