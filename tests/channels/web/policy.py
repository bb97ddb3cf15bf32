"""The rules of a company, by the API."""

import json
from typing import Any

from tests.api.clients import Api, ApiResponse


def put(api: Api, rules: Any) -> ApiResponse:
    return api.call("PUT", "/policy", json.dumps({"rules": rules}).encode())
