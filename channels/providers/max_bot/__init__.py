"""Messages by our bot in MAX to people who shared their contact with it."""
