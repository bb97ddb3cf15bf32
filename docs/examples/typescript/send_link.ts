// Send a message with a short link to a phone.

interface Sent {
  success: true;
  short_url: string;
  channel: string;
  status: "queued" | "sent" | "delivered";
}

interface Refusal {
  success: false;
  code: string;
  message: string;
  request_id: string;
}

const { KVITOK_URL, KVITOK_KEY, PHONE, LINK } = process.env;

const response = await fetch(`${KVITOK_URL}/links/send`, {
  method: "POST",
  headers: {
    Authorization: `Bearer ${KVITOK_KEY}`,
    "Content-Type": "application/json",
  },
  body: JSON.stringify({
    phone: PHONE,
    url: LINK,
    text: "Your order is on its way: :link", // the short link takes the place of :link
  }),
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

console.log(`${answer.short_url} by ${answer.channel}: ${answer.status}`);
