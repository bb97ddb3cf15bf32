-- The balance after a company's last archived transfer. Top-ups and a few late charges are older
-- than it, and still in the table.
SELECT gone.at, (gone.tokens + COALESCE((
  SELECT sum({amount}) FROM billing_transfer
  WHERE company_id = %(company)s AND created_at <= gone.at), 0))::bigint AS balance
FROM (SELECT max(last_at) AS at, sum({tokens}) AS tokens
      FROM billing_archivedsum WHERE company_id = %(company)s) AS gone
WHERE gone.at IS NOT NULL
