SELECT k.id AS key_id, k.name, k.prefix || '…' || k.last4 AS masked_key, k.day_limit AS tokens,
  COALESCE({used}, 0) AS used, {resets_at} AS resets_at
FROM accounts_apikey k CROSS JOIN ({period}) AS period
  LEFT JOIN billing_wallet wallet ON wallet.company_id = k.company_id
WHERE k.company_id = %(company_id)s AND k.mode = %(mode)s AND k.revoked_at IS NULL
  AND (k.expires_at IS NULL OR k.expires_at > now())
ORDER BY k.created_at, k.id
