-- Includes all marks of the same days, so that each day is counted again only once.
DELETE FROM channels_staleday s USING (
  SELECT DISTINCT company_id, mode, day FROM (
    SELECT * FROM channels_staleday WHERE due_at <= statement_timestamp()
    ORDER BY id LIMIT %s) AS oldest) AS d
WHERE s.company_id = d.company_id AND s.mode = d.mode AND s.day = d.day
  AND s.due_at <= statement_timestamp()
RETURNING s.company_id, s.mode, s.day
