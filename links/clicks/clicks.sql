-- Clicks, a partition for each month; `counting.py` makes and drops them.
CREATE TABLE IF NOT EXISTS links_click (
  link_id uuid NOT NULL,
  at timestamp with time zone NOT NULL,
  kind varchar(8) NOT NULL,
  referrer varchar(100) NOT NULL,
  device varchar(8) NOT NULL,
  country varchar(2) NOT NULL
) PARTITION BY RANGE (at);
CREATE INDEX IF NOT EXISTS links_click_of_link ON links_click (link_id, at);
