// Send a one-time code to the phone of a user.

interface Sent {
  success: true;
  message: string;
  id: string;
  channel: string;
  expires_in: number;
}

interface Refusal {
  success: false;
  code: string;
  message: string;
  request_id: string;
}

const { KVITOK_URL, KVITOK_KEY, PHONE } = process.env;

const response = await fetch(`${KVITOK_URL}/otp/send`, {
  method: "POST",
  headers: {
    Authorization: `Bearer ${KVITOK_KEY}`,
    "Content-Type": "application/json",
  },
  body: JSON.stringify({ phone: PHONE }),
  signal: AbortSignal.timeout(10_000),
});
if (response.headers.get("Content-Type") !== "application/json") {
  console.error(`no answer from the service: ${response.status}`); // a proxy's own page
  process.exit(1);
}
const answer = (await response.json()) as Sent | Refusal;

if (!answer.success) {
  console.error(`${answer.code}: ${answer.message} (request ${answer.request_id})`);
  process.exit(1);
}

console.log(`${answer.message}, valid for ${answer.expires_in} s: ${answer.id}`);
