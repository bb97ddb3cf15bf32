"""SMS over SMPP 3.4, each account in a process of its own."""
