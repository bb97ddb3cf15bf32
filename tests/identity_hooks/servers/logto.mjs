// Logto's own connector sends what it is given; prints the status, or what the connector raised.
import createConnector from "@logto/connector-http-sms";

const [config, message] = process.argv.slice(2).map((text) => JSON.parse(text));
const connector = await createConnector({ getConfig: async () => config });
try {
  const answer = await connector.sendMessage(message);
  console.log(JSON.stringify({ status: answer.statusCode, body: answer.body }));
} catch (error) {
  console.log(JSON.stringify({ code: error.code, data: error.data }));
}
