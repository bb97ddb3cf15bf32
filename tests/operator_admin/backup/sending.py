"""A company's backend that sends codes without a pause, until killed, and prints their ids.

`python -m tests.operator_admin.backup.sending COMPANY` with the key in the environment's API_KEY.
"""

import itertools
import os
import sys
import time

import django

django.setup()

from django.db import connection  # noqa: E402 - models need the setup

from accounts.models import Company  # noqa: E402
from tests.api.clients import Api  # noqa: E402

FIRST = 79_260_000_000


def main() -> None:
    api = Api(Company.objects.get(pk=sys.argv[1]), os.environ["API_KEY"])
    for number in itertools.count(FIRST):
        response = api.post("/otp/send", {"phone": f"+{number}"})
        connection.close()  # to the pool, as at the end of a request
        if response.status == 200:
            sys.stdout.write(f"{response.body['id']}\n")
            sys.stdout.flush()
        else:
            time.sleep(0.1)


if __name__ == "__main__":
    main()
