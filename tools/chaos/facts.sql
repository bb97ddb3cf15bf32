-- Counts of what happened in a run; each query counts by kind.

--: calls to send, by answer
SELECT CASE status WHEN 0 THEN 'none: ' || code WHEN 200 THEN '200'
       ELSE status || ' ' || code END, count(*) FROM client_call GROUP BY 1

--: calls to verify, by answer
SELECT CASE status WHEN 0 THEN 'none: ' || code WHEN 200 THEN '200'
       ELSE status || ' ' || code END, count(*) FROM client_entry GROUP BY 1

--: repeats
SELECT 'sends repeated', count(*) FROM (
  SELECT key FROM client_call GROUP BY key HAVING count(*) > 1) AS repeated
UNION ALL SELECT 'answers replayed', count(*) FROM client_call WHERE is_replayed
UNION ALL SELECT 'codes sent again', count(*) FROM (
  SELECT subject_id FROM channels_message WHERE kind = 'code'
  GROUP BY 1 HAVING count(*) > 1) AS again

--: messages, by state
SELECT state, count(*) FROM channels_message GROUP BY 1

--: attempts, by result of the call
SELECT CASE WHEN error_class = '' THEN 'accepted, or still unknown'
       ELSE error_class || ' ' || error_code END, count(*)
FROM channels_attempt GROUP BY 1

--: ambiguous attempts, by final state
SELECT state, count(*) FROM channels_attempt WHERE error_class = 'ambiguous' GROUP BY 1

--: receipts
SELECT provider || ' ' || state, count(*) FROM channels_receipt GROUP BY 1

--: fallback events, by reason
SELECT reason, count(*) FROM channels_fallbackevent GROUP BY 1

--: captures, by proof
SELECT proof, count(*) FROM billing_transfer WHERE kind = 'capture' GROUP BY 1

--: longest time without an answer, seconds
SELECT 'sends and verifies', ceil(max(gap))::int FROM (
  SELECT at - lag(at) OVER (ORDER BY at) AS gap FROM (
    SELECT at FROM client_call WHERE status = 200
    UNION ALL SELECT at FROM client_entry WHERE status IN (200, 422)) AS answers) AS gaps
WHERE gap IS NOT NULL

--: longest Retry-After of a repeat, seconds
SELECT 'request_in_progress', ceil(max(lasted))::int FROM (
  SELECT max(at) - min(at) AS lasted FROM client_call WHERE status = 409 GROUP BY key
) AS waits HAVING max(lasted) IS NOT NULL

--: vendors' faults on accepted messages
SELECT fault, count(*) FROM phone_message, unnest(faults) AS fault
WHERE fault <> 'latency' GROUP BY 1
