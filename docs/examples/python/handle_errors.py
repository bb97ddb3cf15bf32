"""Send a code: one message however often the network fails, and an answer to every refusal."""

import os
import sys
import time
import uuid

import requests

PAUSES = (1, 2, 4)  # seconds before the second try, the third and the last


def post(phone: str, idempotency_key: str) -> requests.Response:
    return requests.post(
        f"{os.environ['KVITOK_URL']}/otp/send",
        headers={
            "Authorization": f"Bearer {os.environ['KVITOK_KEY']}",
            "Idempotency-Key": idempotency_key,
        },
        json={"phone": phone},
        timeout=10,
    )


def is_answer(response: requests.Response) -> bool:
    """A proxy in between answers with a page of its own, 502 for example."""
    return response.headers.get("Content-Type") == "application/json"


def send_code(phone: str) -> requests.Response:
    # One key for all tries: the service knows them for one request and sends one message.
    key = str(uuid.uuid4())
    for pause in PAUSES:
        seconds = pause
        try:
            response = post(phone, key)
            if is_answer(response) and response.status_code not in {409, 500, 503}:
                return response
            seconds = int(response.headers.get("Retry-After", pause))
        except (requests.ConnectionError, requests.Timeout):
            pass  # nobody knows whether the code was sent; the next try finds out
        print(f"trying again in {seconds} s")
        time.sleep(seconds)
    return post(phone, key)


response = send_code(os.environ["PHONE"])
if not is_answer(response):
    sys.exit(f"no answer from the service: {response.status_code}")
answer = response.json()

match response.status_code:
    case 200:
        print(f"sent by {answer['channel']}")
    case 401:
        sys.exit("check the API key")
    case 402:
        sys.exit(f"top up: {answer['required']} needed, {answer['available']} available")
    case 422:
        sys.exit(f"correct the request: {answer['code']} {answer.get('errors', '')}")
    case 429 if "Retry-After" not in response.headers:
        sys.exit(answer["message"])  # waiting does not help
    case 429:
        sys.exit(f"wait {response.headers['Retry-After']} s: {answer['code']}")
    case _:
        sys.exit(f"{answer['code']}: {answer['message']} (request {answer['request_id']})")
