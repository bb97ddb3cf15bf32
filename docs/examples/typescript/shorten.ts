// Make a short link.

interface Shortened {
  success: true;
  short_url: string;
  expires_at: string | null;
}

interface Refusal {
  success: false;
  code: string;
  message: string;
  request_id: string;
}

const { KVITOK_URL, KVITOK_KEY, LINK } = process.env;

const response = await fetch(`${KVITOK_URL}/links/shorten`, {
  method: "POST",
  headers: {
    Authorization: `Bearer ${KVITOK_KEY}`,
    "Content-Type": "application/json",
  },
  body: JSON.stringify({ url: LINK, expires_in: 7 * 24 * 3600 }),
  signal: AbortSignal.timeout(10_000),
});
if (response.headers.get("Content-Type") !== "application/json") {
  console.error(`no answer from the service: ${response.status}`); // a proxy's own page
  process.exit(1);
}
const answer = (await response.json()) as Shortened | Refusal;

if (!answer.success) {
  console.error(`${answer.code}: ${answer.message} (request ${answer.request_id})`);
  process.exit(1);
}

console.log(`${answer.short_url} until ${answer.expires_at}`);
