"""SMS by SMSC and the companies that resell it."""
