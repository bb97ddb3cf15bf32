// Send a code: one message however often the network fails, and an answer to every refusal.

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

interface Answer {
  code: string;
  message: string;
  request_id: string;
  channel?: string;
  required?: number;
  available?: number;
  errors?: Record<string, string[]>;
}

type Result = { status: number; retryAfter: string | null; answer?: Answer };

const { KVITOK_URL, KVITOK_KEY, PHONE = "" } = process.env;
const PAUSES = [1, 2, 4]; // seconds before the second try, the third and the last

async function post(phone: string, idempotencyKey: string): Promise<Result> {
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
  const answer = isAnswer ? ((await response.json()) as Answer) : undefined;
  return { status, retryAfter: headers.get("Retry-After"), answer };
}

async function sendCode(phone: string): Promise<Result> {
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

function reaction({ status, retryAfter, answer }: Result): string {
  if (!answer) return `no answer from the service: ${status}`;
  switch (status) {
    case 200:
      return `sent by ${answer.channel}`;
    case 401:
      return "check the API key";
    case 402:
      return `top up: ${answer.required} needed, ${answer.available} available`;
    case 422:
      return `correct the request: ${answer.code} ${JSON.stringify(answer.errors ?? {})}`;
    case 429:
      return `wait ${retryAfter} s: ${answer.code}`;
    default:
      return `${answer.code}: ${answer.message} (request ${answer.request_id})`;
  }
}

const result = await sendCode(PHONE);
console.log(reaction(result));
process.exitCode = result.status === 200 ? 0 : 1;
