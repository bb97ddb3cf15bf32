"""The guard's answers, from the mildest."""

from enum import IntEnum


class GuardStep(IntEnum):
    ALLOW = 0
    CHEAP_ONLY = 1  # nobody earns on a messenger
    CHALLENGE = 2
    REFUSE = 3
