// Twilio's Node client, unmodified, against the running service: the flow that vercel-labs/emulate
// tries with it, and refusals. `node twilio_sdk.mjs ADDRESS KEY SERVICE READER`, as twilio_sdk.py.
import assert from "node:assert/strict";
import { createRequire } from "node:module";

const twilio = createRequire(`${process.cwd()}/`)("twilio");
const [address, key, serviceSid, reader] = process.argv.slice(2);
const client = twilio(`AC${"0123456789abcdef".repeat(2)}`, key);
client.verify.baseUrl = address;
const service = client.verify.v2.services(serviceSid);
let next = Date.now() % 1000;

const phone = () => `+7915${String(next++ % 1000).padStart(3, "0")}0000`;

async function codeAt(number) {
  const query = new URLSearchParams({ limit: "1", phone: number });
  const answer = await fetch(`${new URL(address).origin}/api/v1/test/messages?${query}`, {
    headers: { Authorization: `Bearer ${reader}` },
  });
  return (await answer.json()).data[0].code;
}

const wrong = (code) => code.slice(0, -1) + ((Number(code.at(-1)) + 1) % 10);

async function refusal(call) {
  try {
    await call;
  } catch (error) {
    return [error.status, error.code];
  }
  throw new Error("not refused");
}

const to = phone();
const started = await service.verifications.create({ to, channel: "sms" });
assert.equal(started.status, "pending");
assert.match(started.sid, /^VE[0-9a-f]{32}$/);
assert.ok(started.dateCreated instanceof Date && !Number.isNaN(started.dateCreated.valueOf()));

const code = await codeAt(to);
const guess = await service.verificationChecks.create({ to, code: wrong(code) });
assert.deepEqual([guess.status, guess.valid], ["pending", false]);
const check = await service.verificationChecks.create({ to, code });
assert.deepEqual([check.status, check.valid], ["approved", true]);
assert.deepEqual(await refusal(service.verificationChecks.create({ to, code })), [404, 20404]);

const canceled = phone();
const { sid } = await service.verifications.create({ to: canceled, channel: "auto" });
assert.equal((await service.verifications(sid).update({ status: "canceled" })).status, "canceled");
assert.equal((await service.verifications(sid).fetch()).status, "canceled");
assert.deepEqual(
  await refusal(service.verifications.create({ to: "+7", channel: "sms" })),
  [400, 60200],
);
assert.deepEqual((await client.verify.v2.services.list()).map((one) => one.sid), [serviceSid]);
console.log("ok");
