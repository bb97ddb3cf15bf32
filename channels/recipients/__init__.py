"""Recipients: blocked phones, contacts shared with the bot, vendors' user ids."""
