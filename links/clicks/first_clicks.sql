-- A person's first click of links that went out in messages, once even if reported again;
-- the messages come back with what they carried. Links are locked before messages, in one order.
-- Earlier days are counted again at the end of the hour: people open links for days, and each
-- count of a large company's day reads all its messages.
WITH clicked AS (
  SELECT link.id, click.at FROM links_link link
    JOIN unnest(%(ids)s::uuid[], %(times)s::float[]) AS click(id, at) USING (id)
  WHERE link.message_id IS NOT NULL AND link.clicked_at IS NULL
  ORDER BY link.id FOR UPDATE OF link),
noted AS (
  UPDATE links_link link SET clicked_at = to_timestamp(clicked.at)
  FROM clicked WHERE link.id = clicked.id RETURNING link.message_id),
opened AS (
  SELECT message.id, message.subject_id, message.company_id, message.mode,
    (message.created_at AT TIME ZONE %(zone)s)::date AS day
  FROM noted JOIN channels_message message ON message.id = noted.message_id),
stale AS (
  INSERT INTO channels_staleday (company_id, mode, day, due_at)
  SELECT DISTINCT company_id, mode, day, date_trunc('hour', now()) + interval '1 hour' FROM opened
  WHERE day < (now() AT TIME ZONE %(zone)s)::date)
SELECT id, subject_id FROM opened
