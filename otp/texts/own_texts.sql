-- A column next to the row `company`: its texts, and its autofill lines under an empty language.
--: column
(SELECT jsonb_agg(jsonb_build_array(locale, purpose, channel, body)) FROM (
   SELECT locale, purpose, channel, body FROM otp_codetext code_text
   WHERE code_text.company_id = company.id
   UNION ALL
   SELECT '', webotp_host, app_hash, '' FROM otp_autofill autofill
   WHERE autofill.company_id = company.id) AS own)

-- The same of one company.
--: of_company
SELECT {column} FROM accounts_company company WHERE company.id = %s
