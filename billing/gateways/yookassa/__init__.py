"""YooKassa: cards and SBP."""
