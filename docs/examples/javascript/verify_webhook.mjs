// Receive callbacks and believe only those that the service signed.

import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";
import { buffer } from "node:stream/consumers";

const SECRET = Buffer.from(process.env.KVITOK_SECRET.replace(/^whsec_/, ""), "base64");
const TOLERANCE = 5 * 60; // seconds

function isGenuine(headers, body) {
  const id = headers["webhook-id"] ?? "";
  const timestamp = headers["webhook-timestamp"] ?? "";
  const age = Math.abs(Date.now() / 1000 - Number(timestamp));
  if (!(age <= TOLERANCE)) return false; // NaN included

  const signed = createHmac("sha256", SECRET).update(`${id}.${timestamp}.`).update(body);
  const expected = Buffer.from(`v1,${signed.digest("base64")}`);
  // While a secret is being replaced there are two signatures, separated by a space.
  return (headers["webhook-signature"] ?? "").split(" ").some((signature) => {
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
  const event = JSON.parse(body.toString());
  // The same event can come twice: act once per webhook-id, and answer at once.
  console.log(event.type, event.data);
  response.writeHead(204).end();
});

server.listen(Number(process.env.PORT ?? 8080), "127.0.0.1");
