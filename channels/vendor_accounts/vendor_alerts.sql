-- Stores an alert. A repeated one only increments its row: vendors repeat them by the thousand.
WITH earlier AS (
  SELECT at FROM channels_provideralert
  WHERE provider = %(provider)s AND code = %(code)s AND detail = %(detail)s)
INSERT INTO channels_provideralert AS alert (provider, code, detail, kind, times)
VALUES (%(provider)s, %(code)s, %(detail)s, %(kind)s, %(times)s)
ON CONFLICT (provider, code, detail)
DO UPDATE SET at = now(), times = alert.times + excluded.times, kind = excluded.kind
RETURNING (SELECT at FROM earlier)
