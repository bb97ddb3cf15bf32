"""The rules of a company, by the API."""

import json
from typing import Any

from tests.api.clients import Answer, Api


def put(api: Api, rules: Any) -> Answer:
    return api.call("PUT", "/policy", json.dumps({"rules": rules}).encode())
