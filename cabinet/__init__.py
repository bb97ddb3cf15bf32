"""Pages about company, members, requests and audit, and parts that all cabinet pages share."""
