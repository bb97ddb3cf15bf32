"""Made-up data: the demo companies of `make run`, and histories of any size.

Everything about a message of a history follows from its day and its number in it, so the same call
makes the same history.
"""

from config.local.processes import StartError

KEY_ID = "past"  # not in OTP_KEYS: these codes cannot be derived


class DemoError(StartError):
    """Why nothing was made, in a sentence or two for people."""
