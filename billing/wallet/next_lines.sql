-- The lines of a company's statement after the last one read.
SELECT created_at, id, kind, amount, message_id, reason, balance_after, {line} AS sealed_line
FROM billing_transfer
WHERE company_id = %(company)s {condition}
  AND created_at >= %(last_at)s AND created_at < %(until)s
  AND (created_at, id) > (%(last_at)s, %(last)s) ORDER BY created_at, id
