"""Make a short link."""

import os
import sys

import requests

response = requests.post(
    f"{os.environ['KVITOK_URL']}/links/shorten",
    headers={"Authorization": f"Bearer {os.environ['KVITOK_KEY']}"},
    json={"url": os.environ["LINK"], "expires_in": 7 * 24 * 3600},
    timeout=10,
)
if response.headers.get("Content-Type") != "application/json":
    sys.exit(f"no answer from the service: {response.status_code}")  # a proxy's own page
answer = response.json()

if not answer["success"]:
    sys.exit(f"{answer['code']}: {answer['message']} (request {answer['request_id']})")

print(f"{answer['short_url']} until {answer['expires_at']}")
