-- Inserts a day's counts in the order of the index by which a page reads them.
INSERT INTO channels_daycount (company_id, mode, day, channel, kind, state, pace, messages)
SELECT company_id, mode, %(day)s::date, channel, kind, state, {pace}, count(*)
FROM channels_message WHERE created_at >= %(start)s AND created_at < %(end)s AND {whose}
GROUP BY 1, 2, 4, 5, 6, 7 ORDER BY 1, 2, 4, 5, 6, 7
