// Send a code and verify it by the client that hey-api generates from the schema.

import { client } from "./made/client.gen.js";
import {
  getLink,
  listLinks,
  listTestMessages,
  sendCode,
  shortenLink,
  verifyCode,
} from "./made/sdk.gen.js";
import type { Error as Refusal, Link, MessageEvent } from "./made/types.gen.js";

const phone = process.env.PHONE!;
client.setConfig({ baseUrl: process.env.KVITOK_URL!, auth: process.env.KVITOK_KEY! });

function expect(truth: unknown, said: string): asserts truth {
  if (!truth) throw new Error(said);
}

const refused = await sendCode({ body: { phone: "12" } });
const refusal: Refusal | undefined = refused.error;
expect(refusal?.success === false && refusal.request_id, "no typed error");

const sent = await sendCode({ body: { phone }, headers: { "Idempotency-Key": phone } });
expect(sent.data?.success, "not sent");
const status: "queued" | "sent" | "delivered" = sent.data.status;

const shown = await listTestMessages({ query: { phone } });
const code = shown.data?.data[0].code;
expect(code, "no code on the phone");

const wrong = code.slice(0, -1) + ((Number(code.at(-1)) + 1) % 10);
const failed = await verifyCode({ body: { phone, code: wrong } });
expect(failed.error?.code === "code_invalid", "a wrong code was not refused");
const verified = await verifyCode({ body: { phone, code } });
expect(verified.data, "the correct code was refused");

const made = await shortenLink({ body: { url: "https://shop.example/orders/1024" } });
expect(made.data, "not shortened");
const link = await getLink({ path: { id: made.data.id } });
const links = await listLinks({ query: { slug: made.data.slug } });
const both: Link[] = [link.data!, ...links.data!.data];

const year = verified.data.verified_at.slice(0, 4);
console.log(`${failed.error.attempts_left} left, verified in ${year}, ${both[0].state}`);

// What must not compile.
export async function mistakes(event: MessageEvent): Promise<void> {
  // @ts-expect-error a phone is required
  await sendCode({ body: {} });
  // @ts-expect-error no event carries the code
  console.log(event.data.phone, status, event.data.code);
}
