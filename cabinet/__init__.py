"""The cabinet's pages of company, members, requests and audit; what all its pages share."""
