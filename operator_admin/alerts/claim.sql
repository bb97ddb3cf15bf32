-- Claims the run of a group of alerts; no row if another process has had it within the interval.
INSERT INTO operator_admin_alertrun ("group", at) VALUES (%s, clock_timestamp())
ON CONFLICT ("group") DO UPDATE SET at = excluded.at
WHERE operator_admin_alertrun.at < excluded.at - make_interval(secs => %s)
RETURNING at
