// Send a code: one message however often the network fails, and an answer to every refusal.

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

const { KVITOK_URL, KVITOK_KEY, PHONE } = process.env;
const PAUSES = [1, 2, 4]; // seconds before the second try, the third and the last

async function post(phone, idempotencyKey) {
  const response = await fetch(`${KVITOK_URL}/otp/send`, {
    method: "POST",
    headers: {
      Authorization: `Bearer ${KVITOK_KEY}`,
      "Content-Type": "application/json",
      "Idempotency-Key": idempotencyKey,
    },
    body: JSON.stringify({ phone }),
    signal: AbortSignal.timeout(10_000),
  });
  const { status, headers } = response;
  // A proxy in between answers with a page of its own, 502 for example.
  const isAnswer = headers.get("Content-Type") === "application/json";
  const answer = isAnswer ? await response.json() : undefined;
  return { status, retryAfter: headers.get("Retry-After"), answer };
}

async function sendCode(phone) {
  // One key for all tries: the service knows them for one request and sends one message.
  const key = randomUUID();
  for (const pause of PAUSES) {
    let seconds = pause;
    try {
      const result = await post(phone, key);
      if (result.answer && ![409, 500, 503].includes(result.status)) return result;
      seconds = Number(result.retryAfter ?? pause);
    } catch {
      // Nobody knows whether the code was sent; the next try finds out.
    }
    console.log(`trying again in ${seconds} s`);
    await sleep(seconds * 1000);
  }
  return post(phone, key);
}

const { status, retryAfter, answer } = await sendCode(PHONE);

if (!answer) {
  console.error(`no answer from the service: ${status}`);
  process.exitCode = 1;
} else if (status === 200) {
  console.log(`sent by ${answer.channel}`);
} else {
  process.exitCode = 1;
  const reactions = {
    401: "check the API key",
    402: `top up: ${answer.required} needed, ${answer.available} available`,
    422: `correct the request: ${answer.code} ${JSON.stringify(answer.errors ?? {})}`,
    429: `wait ${retryAfter} s: ${answer.code}`,
  };
  console.error(
    reactions[status] ?? `${answer.code}: ${answer.message} (request ${answer.request_id})`,
  );
}
