// Check the code that a user typed in.

const { KVITOK_URL, KVITOK_KEY, PHONE, CODE } = process.env;

const response = await fetch(`${KVITOK_URL}/otp/verify`, {
  method: "POST",
  headers: {
    Authorization: `Bearer ${KVITOK_KEY}`,
    "Content-Type": "application/json",
  },
  body: JSON.stringify({ phone: PHONE, code: CODE }),
  signal: AbortSignal.timeout(10_000),
});
if (response.headers.get("Content-Type") !== "application/json") {
  console.error(`no answer from the service: ${response.status}`); // a proxy's own page
  process.exit(1);
}
const answer = await response.json();

if (answer.success) {
  console.log(`verified at ${answer.verified_at}`);
} else if (answer.code === "code_invalid") {
  console.error(`wrong code, ${answer.attempts_left} attempts left`);
  process.exitCode = 1;
} else {
  // code_expired, code_used, too_many_attempts: the user needs a new code.
  console.error(`${answer.code}: ${answer.message} (request ${answer.request_id})`);
  process.exitCode = 1;
}
