-- Deletes a batch of marks, with all marks of the same days, so that each day is counted again only
-- once.
DELETE FROM channels_staleday stale_day USING (
  SELECT DISTINCT company_id, mode, day FROM (
    SELECT * FROM channels_staleday WHERE due_at <= statement_timestamp()
    ORDER BY id LIMIT %s) AS oldest) AS taken
WHERE stale_day.company_id = taken.company_id AND stale_day.mode = taken.mode
  AND stale_day.day = taken.day
  AND stale_day.due_at <= statement_timestamp()
RETURNING stale_day.company_id, stale_day.mode, stale_day.day
