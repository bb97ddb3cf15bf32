// Send a code and verify it by the fetch client that openapi-generator generates from the schema.

import {
  Configuration,
  type Link,
  LinksApi,
  MessagesApi,
  type MessageEvent,
  type ModelError,
  ModelErrorFromJSON,
  OtpApi,
  ResponseError,
  type SendStatus,
} from "./made/index.js";

const phone = process.env.PHONE!;
const settings = new Configuration({
  basePath: process.env.KVITOK_URL!,
  accessToken: process.env.KVITOK_KEY!,
});
const codes = new OtpApi(settings);
const messages = new MessagesApi(settings);
const links = new LinksApi(settings);

function expect(truth: unknown, said: string): asserts truth {
  if (!truth) throw new Error(said);
}

async function refusal(call: Promise<unknown>): Promise<ModelError> {
  try {
    await call;
  } catch (error) {
    if (error instanceof ResponseError) return ModelErrorFromJSON(await error.response.json());
    throw error;
  }
  throw new Error("it was not refused");
}

const refused = await refusal(codes.sendCode({ sendCodeRequest: { phone: "12" } }));
expect(refused.success === false && refused.requestId, "no typed error");

const sent = await codes.sendCode({ sendCodeRequest: { phone }, idempotencyKey: phone });
const status: SendStatus = sent.status;
expect(sent.success && status, "not sent");

const shown = await messages.listTestMessages({ phone });
const code = shown.data[0].code;
expect(code, "no code on the phone");

const wrong = code.slice(0, -1) + ((Number(code.at(-1)) + 1) % 10);
const failed = await refusal(codes.verifyCode({ verifyCodeRequest: { phone, code: wrong } }));
expect(failed.code === "code_invalid", "a wrong code was not refused");
const verified = await codes.verifyCode({ verifyCodeRequest: { phone, code } });

const made = await links.shortenLink({ newLink: { url: "https://shop.example/orders/1024" } });
const link = await links.getLink({ id: made.id });
const both: Link[] = [link, ...(await links.listLinks({ slug: made.slug })).data];
expect(both.length === 2, "not in the list");

const year = verified.verifiedAt.getFullYear();
console.log(`${failed.attemptsLeft} left, verified in ${year}, ${both[0].state}`);

// What must not compile.
export async function mistakes(event: MessageEvent): Promise<void> {
  // @ts-expect-error a phone is required
  await codes.sendCode({ sendCodeRequest: {} });
  // @ts-expect-error no event carries the code
  console.log(event.data.phone, event.data.code);
}
