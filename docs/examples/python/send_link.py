"""Send a message with a short link to a phone."""

import os
import sys

import requests

response = requests.post(
    f"{os.environ['KVITOK_URL']}/links/send",
    headers={"Authorization": f"Bearer {os.environ['KVITOK_KEY']}"},
    json={
        "phone": os.environ["PHONE"],
        "url": os.environ["LINK"],
        "text": "Your order is on its way: :link",  # the short link takes the place of :link
    },
    timeout=10,
)
if response.headers.get("Content-Type") != "application/json":
    sys.exit(f"no answer from the service: {response.status_code}")  # a proxy's own page
answer = response.json()

if not answer["success"]:
    sys.exit(f"{answer['code']}: {answer['message']} (request {answer['request_id']})")

print(f"{answer['short_url']} by {answer['channel']}: {answer['status']}")
