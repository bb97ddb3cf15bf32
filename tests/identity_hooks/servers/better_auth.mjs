// A site with better-auth in memory, on the port given; PLUGIN is a recipe of our documentation.
import { createServer } from "node:http";
import { betterAuth, APIError } from "better-auth";
import { memoryAdapter } from "better-auth/adapters/memory";
import { phoneNumber } from "better-auth/plugins/phone-number";
import { toNodeHandler } from "better-auth/node";

const port = Number(process.argv[2]);
/* PLUGIN */
const tables = { user: [], session: [], account: [], verification: [] };
const auth = betterAuth({
  baseURL: `http://127.0.0.1:${port}`,
  secret: "a secret of at least thirty-two characters",
  database: memoryAdapter(tables),
  rateLimit: { enabled: false },
  plugins: [plugin],
});
const page = `<!doctype html><html lang="en"><title>Site</title><body>
<label>Phone <input id="phone"></label><button id="send">Send the code</button>
<label>Code <input id="code"></label><button id="enter">Enter</button>
<p id="state"></p>
<script>
  const call = async (path, body) => {
    const answer = await fetch("/api/auth/phone-number/" + path, {
      method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(body),
    });
    const said = await answer.json();
    if (!answer.ok) { state.textContent = "refused: " + (said.message || said.code); return; }
    const session = await (await fetch("/api/auth/get-session")).json();
    state.textContent = session ? "signed in: " + session.user.phoneNumber : "the code is sent";
  };
  const [phone, code, state] = ["phone", "code", "state"].map((id) => document.getElementById(id));
  send.onclick = () => call("send-otp", {phoneNumber: phone.value});
  enter.onclick = () => call("verify", {phoneNumber: phone.value, code: code.value});
</script>`;
const handler = toNodeHandler(auth);
createServer((request, response) => {
  if (request.url.startsWith("/api/auth/")) return handler(request, response);
  if (request.url !== "/") return response.writeHead(204).end();
  response.writeHead(200, { "Content-Type": "text/html; charset=utf-8" }).end(page);
}).listen(port, "127.0.0.1", () => console.log("listening"));
