"""Send a one-time code to the phone of a user."""

import os
import sys

import requests

response = requests.post(
    f"{os.environ['KVITOK_URL']}/otp/send",
    headers={"Authorization": f"Bearer {os.environ['KVITOK_KEY']}"},
    json={"phone": os.environ["PHONE"]},
    timeout=10,
)
if response.headers.get("Content-Type") != "application/json":
    sys.exit(f"no answer from the service: {response.status_code}")  # a proxy's own page
answer = response.json()

if not answer["success"]:
    sys.exit(f"{answer['code']}: {answer['message']} (request {answer['request_id']})")

print(f"{answer['message']}, valid for {answer['expires_in']} s: {answer['id']}")
