"""Recipients: opt-out, contacts shared with the bot, vendors' user ids."""
