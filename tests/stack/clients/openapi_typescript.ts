// Send a code and verify it by types that openapi-typescript generates from the schema.

import createClient from "openapi-fetch";

import type { components, paths, webhooks } from "./schema.js";

type Link = components["schemas"]["Link"];
type Refusal = components["schemas"]["Error"];
type Delivered =
  webhooks["message.delivered"]["post"]["requestBody"]["content"]["application/json"];

const phone = process.env.PHONE!;
const client = createClient<paths>({
  baseUrl: process.env.KVITOK_URL!,
  headers: { Authorization: `Bearer ${process.env.KVITOK_KEY}` },
});

function expect(truth: unknown, said: string): asserts truth {
  if (!truth) throw new Error(said);
}

const refused = await client.POST("/otp/send", { body: { phone: "12" } });
const refusal: Refusal | undefined = refused.error;
expect(refusal?.success === false && refusal.request_id, "no typed error");

const sent = await client.POST("/otp/send", {
  body: { phone },
  params: { header: { "Idempotency-Key": phone } },
});
expect(sent.data?.success, "not sent");
const status: "queued" | "sent" | "delivered" = sent.data.status;

const shown = await client.GET("/test/messages", { params: { query: { phone } } });
const code = shown.data?.data[0].code;
expect(code, "no code on the phone");

const wrong = code.slice(0, -1) + ((Number(code.at(-1)) + 1) % 10);
const failed = await client.POST("/otp/verify", { body: { phone, code: wrong } });
expect(failed.error?.code === "code_invalid", "a wrong code was not refused");
const verified = await client.POST("/otp/verify", { body: { phone, code } });
expect(verified.data, "the correct code was refused");

const url = "https://shop.example/orders/1024";
const made = await client.POST("/links/shorten", { body: { url } });
expect(made.data, "not shortened");
const id = made.data.id;
const { data: link } = await client.GET("/links/{id}", { params: { path: { id } } });
const { data: links } = await client.GET("/links");
const both: Link[] = [link!, ...links!.data];

const year = verified.data.verified_at.slice(0, 4);
console.log(`${failed.error.attempts_left} left, verified in ${year}, ${both[0].state}`);

// What must not compile.
export async function mistakes(event: Delivered): Promise<void> {
  // @ts-expect-error a phone is required
  await client.POST("/otp/send", { body: {} });
  // @ts-expect-error neither tokens nor a package
  await client.POST("/top-up", { body: { gateway: "invoice" } });
  // @ts-expect-error no event carries the code
  console.log(event.data.phone, status, event.data.code);
}
