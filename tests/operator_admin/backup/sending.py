"""A company's backend that sends codes without a pause, until killed.

`python -m tests.operator_admin.backup.sending COMPANY` with the key in the environment's API_KEY.
"""

import itertools
import os
import sys

import django

django.setup()

from accounts.models import Company  # noqa: E402 - models need the setup
from tests.api.clients import Api  # noqa: E402

FIRST = 79_260_000_000


def main() -> None:
    api = Api(Company.objects.get(pk=sys.argv[1]), os.environ["API_KEY"])
    for number in itertools.count(FIRST):
        api.post("/otp/send", {"phone": f"+{number}"})


if __name__ == "__main__":
    main()
