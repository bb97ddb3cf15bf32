// Vonage's client for Node.js, unmodified, against the running service.
// vonage_sdk.mjs ADDRESS KEY READER APPLICATION_ID PRIVATE_KEY; it signs tokens, and needs no KEY.
import assert from "node:assert";
import { createRequire } from "node:module";
import { join } from "node:path";

// Where `make judges` puts packages, which is the folder that this runs in.
const require = createRequire(join(process.cwd(), "package.json"));
const { Auth } = require("@vonage/auth");
const { Verify2 } = require("@vonage/verify2");

const [address, , reader, applicationId, privateKey] = process.argv.slice(2);
const verify = new Verify2(new Auth({ applicationId, privateKey }), { apiHost: address });
// Another range than that of the Python programs, which the same service has served.
let number = Date.now() % 1000;
const phone = (ending = "0000") => `7917${String(number++ % 1000).padStart(3, "0")}${ending}`;

async function codeAt(to) {
  const url = new URL(`/api/v1/test/messages?limit=1&phone=%2B${to}`, address);
  const answer = await fetch(url, { headers: { Authorization: `Bearer ${reader}` } });
  return (await answer.json()).data[0].code;
}

const sms = (to, more = {}) => ({ brand: "ACME", workflow: [{ channel: "sms", to }], ...more });

async function refused(call, status) {
  await assert.rejects(call, (error) => {
    assert.strictEqual(error.response.status, status);
    return true;
  });
}

let to = phone();
const { requestId, checkUrl } = await verify.newRequest(
  sms(to, { codeLength: 4, locale: "en-gb", channelTimeout: 60, clientRef: "order-7" }),
);
assert.strictEqual(checkUrl, undefined);
await refused(() => verify.newRequest(sms(to)), 409);
const code = await codeAt(to);
assert.strictEqual(code.length, 4);
await refused(() => verify.checkCode(requestId, code === "0000" ? "1111" : "0000"), 400);
assert.strictEqual(await verify.checkCode(requestId, code), "completed");
await refused(() => verify.checkCode(requestId, code), 404);
assert.strictEqual(await verify.cancel(requestId), false);

to = phone();
const canceled = await verify.newRequest(sms(to));
assert.strictEqual(await verify.nextWorkflow(canceled.requestId), false);
assert.strictEqual(await verify.cancel(canceled.requestId), true);

to = phone();
const steps = [
  { channel: "silent_auth", to, redirectUrl: "https://shop.example/" },
  { channel: "sms", to },
  { channel: "whatsapp", to, from: "79000000000" },
];
const chain = await verify.newRequest({ brand: "ACME", workflow: steps });
assert.strictEqual(await verify.nextWorkflow(chain.requestId), true);
assert.strictEqual(await verify.nextWorkflow(chain.requestId), false);

const own = await verify.newRequest(sms(phone(), { code: "aB3dE6" }));
assert.strictEqual(await verify.checkCode(own.requestId, "aB3dE6"), "completed");

await refused(() => verify.newRequest(sms("123")), 422);
await refused(() => verify.newRequest(sms(phone("0002"))), 402);
await refused(() => verify.getTemplatePage(), 403);
const stranger = new Verify2(
  new Auth({ applicationId: "00000000-0000-0000-0000-0000000fffff", privateKey }),
  { apiHost: address },
);
await refused(() => stranger.newRequest(sms(phone())), 401);

console.log("ok");
