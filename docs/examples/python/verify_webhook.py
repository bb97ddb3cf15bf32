"""Receive webhooks and believe only those that the service signed: pip install standardwebhooks."""

import os
from http.server import BaseHTTPRequestHandler, HTTPServer

from standardwebhooks import Webhook, WebhookVerificationError

# It checks the time, 5 minutes either way, and each of the signatures: while a secret is being
# replaced there are two.
WEBHOOK = Webhook(os.environ["KVITOK_SECRET"])


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))  # the bytes as sent
        try:
            event = WEBHOOK.verify(body, dict(self.headers))
        except WebhookVerificationError:
            self.send_error(400)
            return
        # The same event can come twice: act once per webhook-id, and answer at once.
        print(f"{event['type']} {event['data']}", flush=True)
        self.send_response(204)
        self.end_headers()


HTTPServer(("127.0.0.1", int(os.environ.get("PORT", "8080"))), Receiver).serve_forever()
