"""Check the code that a user typed in."""

import os
import sys

import requests

response = requests.post(
    f"{os.environ['KVITOK_URL']}/otp/verify",
    headers={"Authorization": f"Bearer {os.environ['KVITOK_KEY']}"},
    json={"phone": os.environ["PHONE"], "code": os.environ["CODE"]},
    timeout=10,
)
if response.headers.get("Content-Type") != "application/json":
    sys.exit(f"no answer from the service: {response.status_code}")  # a proxy's own page
answer = response.json()

if answer["success"]:
    print(f"verified at {answer['verified_at']}")
elif answer["code"] == "code_invalid":
    sys.exit(f"wrong code, {answer['attempts_left']} attempts left")
else:
    # code_expired, code_used, too_many_attempts: the user needs a new code.
    sys.exit(f"{answer['code']}: {answer['message']} (request {answer['request_id']})")
