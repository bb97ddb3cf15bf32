-- A column beside the company's row `c`: its texts, and its autofill lines under an empty language.
--: column
(SELECT jsonb_agg(jsonb_build_array(locale, purpose, channel, body)) FROM (
   SELECT locale, purpose, channel, body FROM otp_codetext t WHERE t.company_id = c.id
   UNION ALL
   SELECT '', webotp_host, app_hash, '' FROM otp_autofill f WHERE f.company_id = c.id) AS own)

--: of_company
SELECT {column} FROM accounts_company c WHERE c.id = %s
