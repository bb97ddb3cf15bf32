-- The text without the phone, however it is written, such as 8 (916) 123-45-67. The
-- pattern differs for each phone, so only texts with enough digits are searched.
CASE WHEN {text} ~ '(\d\W{0,3}){7,}' AND {phone} ~ '^\+\d{7,}$' THEN regexp_replace({text},
  '\+?(\d\W{0,3}){0,5}'
    || array_to_string(string_to_array(right(ltrim({phone}, '+'), 9), NULL), '\W{0,3}'),
  '…', 'g') ELSE {text} END
