// Receive callbacks and believe only those that the service signed.

import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingHttpHeaders } from "node:http";
import { buffer } from "node:stream/consumers";

interface Callback {
  type: string;
  timestamp: string;
  data: Record<string, unknown>;
}

const { KVITOK_SECRET = "", PORT = "8080" } = process.env;
const SECRET = Buffer.from(KVITOK_SECRET.replace(/^whsec_/, ""), "base64");
const TOLERANCE = 5 * 60; // seconds

function header(headers: IncomingHttpHeaders, name: string): string {
  return String(headers[name] ?? "");
}

function isGenuine(headers: IncomingHttpHeaders, body: Buffer): boolean {
  const id = header(headers, "webhook-id");
  const timestamp = header(headers, "webhook-timestamp");
  const age = Math.abs(Date.now() / 1000 - Number(timestamp));
  if (!(age <= TOLERANCE)) return false; // NaN included

  const signed = createHmac("sha256", SECRET).update(`${id}.${timestamp}.`).update(body);
  const expected = Buffer.from(`v1,${signed.digest("base64")}`);
  // While a secret is being replaced there are two signatures, separated by a space.
  return header(headers, "webhook-signature").split(" ").some((signature) => {
    const given = Buffer.from(signature);
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

const server = createServer(async (request, response) => {
  const body = await buffer(request); // the bytes as sent: parsing comes after the check
  if (!isGenuine(request.headers, body)) {
    response.writeHead(400).end();
    return;
  }
  const event = JSON.parse(body.toString()) as Callback;
  // The same event can come twice: act once per webhook-id, and answer at once.
  console.log(event.type, event.data);
  response.writeHead(204).end();
});

server.listen(Number(PORT), "127.0.0.1");
