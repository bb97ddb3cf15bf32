"""Messages by our bot to people who shared their contact with it."""
