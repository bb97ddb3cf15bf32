// Receive webhooks and believe only those that the service signed: npm install standardwebhooks.

import { createServer } from "node:http";
import { buffer } from "node:stream/consumers";

import { Webhook, WebhookVerificationError } from "standardwebhooks";

interface Event {
  type: string;
  timestamp: string;
  data: Record<string, unknown>;
}

const { KVITOK_SECRET = "", PORT = "8080" } = process.env;
// It checks the time, 5 minutes either way, and each of the signatures: while a secret is being
// replaced there are two.
const webhook = new Webhook(KVITOK_SECRET);

const server = createServer(async (request, response) => {
  const body = await buffer(request); // the bytes as sent
  let event: Event;
  try {
    event = webhook.verify(body, request.headers as Record<string, string>) as Event;
  } catch (error) {
    if (!(error instanceof WebhookVerificationError)) throw error;
    response.writeHead(400).end();
    return;
  }
  // The same event can come twice: act once per webhook-id, and answer at once.
  console.log(event.type, event.data);
  response.writeHead(204).end();
});

server.listen(Number(PORT), "127.0.0.1");
