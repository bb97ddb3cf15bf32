"""SMS over SMPP 3.4, with a process for each account."""
