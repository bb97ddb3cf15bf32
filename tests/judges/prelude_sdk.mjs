// Prelude's client for Node.js, unmodified, against the running service:
// `prelude_sdk.mjs ADDRESS KEY READER`, which are those of prelude_sdk.py. The client does not check
// what it reads, so each answer is compared with the words that its types allow.
import assert from "node:assert/strict";
import { createRequire } from "node:module";

const { default: Prelude } = createRequire(`${process.cwd()}/`)("@prelude.so/sdk");
const [ADDRESS, KEY, READER] = process.argv.slice(2);
const client = new Prelude({ baseURL: ADDRESS, apiToken: KEY, maxRetries: 0 });
const CHANNELS = ["rcs", "silent", "sms", "telegram", "viber", "voice", "whatsapp", "zalo"];
const STATUSES = ["success", "retry", "challenged", "blocked", "shadow_blocked"];
let number = Math.floor(Date.now() / 1000) % 1_000_000;

const phone = (ending = "0000") => `+7921${String(number++ % 1000).padStart(3, "0")}${ending}`;
const target = (value) => ({ type: "phone_number", value });

async function codeAt(value) {
  const url = `${new URL(ADDRESS).origin}/api/v1/test/messages?limit=1&phone=${encodeURIComponent(value)}`;
  const answer = await fetch(url, { headers: { Authorization: `Bearer ${READER}` } });
  return (await answer.json()).data[0].code;
}

async function create(value, more = {}) {
  const sent = await client.verification.create({ target: target(value), ...more });
  assert.ok(STATUSES.includes(sent.status));
  assert.equal(sent.method, "message");
  assert.ok((sent.channels ?? []).every((name) => CHANNELS.includes(name)));
  return sent;
}

const check = async (value, code) =>
  (await client.verification.check({ target: target(value), code })).status;

async function refused(call, status, code) {
  await assert.rejects(call, (error) => {
    assert.ok(error instanceof Prelude.APIError);
    assert.deepEqual([error.status, error.error.code], [status, code]);
    return true;
  });
}

const cases = {
  async success() {
    const value = phone();
    const sent = await create(value, { metadata: { correlation_id: "order-7" } });
    assert.deepEqual([sent.status, sent.metadata.correlation_id], ["success", "order-7"]);
    const code = await codeAt(value);
    assert.equal(await check(value, code.slice(0, -1) + ((Number(code.at(-1)) + 1) % 10)), "failure");
    assert.equal(await check(value, code), "success");
    assert.equal(await check(value, code), "expired_or_not_found");
  },
  async retry() {
    const value = phone();
    const first = await create(value);
    const second = await create(value);
    assert.deepEqual([second.status, second.id], ["retry", first.id]);
  },
  async options() {
    const value = phone();
    const sent = await create(value, { options: { code_size: 4, preferred_channel: "sms" } });
    assert.deepEqual(sent.channels, ["sms"]);
    assert.equal((await codeAt(value)).length, 4);
  },
  async blocked() {
    assert.equal((await create(phone("0016"))).reason, "suspicious");
    assert.equal((await create(phone("0011"))).reason, "repeated_attempts");
  },
  async lookup() {
    const found = await client.lookup.lookup("+79161234567");
    assert.deepEqual([found.line_type, found.country_code], ["mobile", "RU"]);
  },
  async feedback() {
    const feedbacks = [{ target: target(phone()), type: "verification.completed" }];
    assert.equal((await client.watch.sendFeedbacks({ feedbacks })).status, "success");
  },
  async refusals() {
    await refused(() => create(phone("0001")), 400, "invalid_phone_number");
    await refused(() => create(phone("0002")), 400, "insufficient_balance");
    await refused(() => check(phone("0012"), "123456"), 429, "too_many_checks");
    await refused(() => client.watch.predict({ target: target(phone()) }), 404, "invalid_request");
    const stranger = new Prelude({ baseURL: ADDRESS, apiToken: "kv_test_unknown", maxRetries: 0 });
    await refused(() => stranger.lookup.lookup("+79161234567"), 401, "invalid_api_key");
  },
};

for (const [name, run] of Object.entries(cases)) {
  await run().catch((error) => {
    throw new Error(`${name}: ${error.message}`, { cause: error });
  });
}
console.log("ok");
