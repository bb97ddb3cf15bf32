-- The valid keys of a company in a mode, with each key's daily limit and the tokens used of it.
SELECT api_key.id AS key_id, api_key.name, api_key.prefix || '…' || api_key.last4 AS masked_key,
  api_key.day_limit AS tokens, COALESCE({used}, 0) AS used, {resets_at} AS resets_at
FROM accounts_apikey api_key CROSS JOIN ({period}) AS period
  LEFT JOIN billing_wallet wallet ON wallet.company_id = api_key.company_id
WHERE api_key.company_id = %(company_id)s AND api_key.mode = %(mode)s AND api_key.revoked_at IS NULL
  AND (api_key.expires_at IS NULL OR api_key.expires_at > now())
ORDER BY api_key.created_at, api_key.id
