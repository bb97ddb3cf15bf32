"""The payment provider of the demo, which moves no money."""
