"""Every scheduled job that works for one company after another, and how one of them fails."""
