"""Receive callbacks and believe only those that the service signed."""

import base64
import hashlib
import hmac
import json
import os
import time
from email.message import Message
from http.server import BaseHTTPRequestHandler, HTTPServer

SECRET = base64.b64decode(os.environ["KVITOK_SECRET"].removeprefix("whsec_"))
TOLERANCE = 5 * 60  # seconds


def is_genuine(headers: Message, body: bytes) -> bool:
    sent_id, sent_at = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not sent_at.isdecimal() or abs(time.time() - int(sent_at)) > TOLERANCE:
        return False
    signed = f"{sent_id}.{sent_at}.".encode() + body
    expected = b"v1," + base64.b64encode(hmac.new(SECRET, signed, hashlib.sha256).digest())
    # While a secret is being replaced there are two signatures, separated by a space.
    signatures = headers.get("webhook-signature", "").encode().split()
    return any(hmac.compare_digest(expected, one) for one in signatures)


class Callbacks(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))  # the bytes as sent
        if not is_genuine(self.headers, body):
            self.send_error(400)
            return
        event = json.loads(body)
        # The same event can come twice: act once per webhook-id, and answer at once.
        print(f"{event['type']} {event['data']}", flush=True)
        self.send_response(204)
        self.end_headers()


HTTPServer(("127.0.0.1", int(os.environ.get("PORT", "8080"))), Callbacks).serve_forever()
