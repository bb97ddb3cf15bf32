// Send a code: one message however often the network fails, and an answer to every refusal.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.UUID;

public class HandleErrors {
    static final int[] PAUSES = {1, 2, 4}; // seconds before the second try, the third and the last
    static final ObjectMapper JSON = new ObjectMapper();
    static final HttpClient CLIENT = HttpClient.newHttpClient();

    record Result(int status, String retryAfter, JsonNode answer) {
        String text(String field) {
            return answer.path(field).asText();
        }
    }

    static Result post(String phone, String idempotencyKey)
            throws IOException, InterruptedException {
        var body = JSON.writeValueAsString(Map.of("phone", phone));
        var url = URI.create(System.getenv("KVITOK_URL") + "/otp/send");
        var request = HttpRequest.newBuilder(url)
                .header("Authorization", "Bearer " + System.getenv("KVITOK_KEY"))
                .header("Content-Type", "application/json")
                .header("Idempotency-Key", idempotencyKey)
                .timeout(Duration.ofSeconds(10))
                .POST(BodyPublishers.ofString(body))
                .build();
        var response = CLIENT.send(request, BodyHandlers.ofString());
        var type = response.headers().firstValue("Content-Type").orElse("");
        if (!type.equals("application/json")) { // a proxy's own page, 502 for example
            throw new IOException("no answer from the service: " + response.statusCode());
        }
        var retryAfter = response.headers().firstValue("Retry-After").orElse(null);
        return new Result(response.statusCode(), retryAfter, JSON.readTree(response.body()));
    }

    static Result sendCode(String phone) throws IOException, InterruptedException {
        // One key for all tries: the service knows them for one request and sends one message.
        var key = UUID.randomUUID().toString();
        for (int seconds : PAUSES) {
            try {
                var result = post(phone, key);
                if (!Set.of(409, 500, 503).contains(result.status())) {
                    return result;
                }
                if (result.retryAfter() != null) {
                    seconds = Integer.parseInt(result.retryAfter());
                }
            } catch (IOException error) { // HttpTimeoutException is one, too
                // Nobody knows whether the code was sent; the next try finds out.
            }
            System.out.printf("trying again in %d s%n", seconds);
            Thread.sleep(Duration.ofSeconds(seconds).toMillis());
        }
        return post(phone, key);
    }

    public static void main(String[] args) throws Exception {
        Result result;
        try {
            result = sendCode(System.getenv("PHONE"));
        } catch (IOException error) {
            System.err.println(error.getMessage());
            System.exit(1);
            return;
        }
        System.out.println(switch (result.status()) {
            case 200 -> "sent by " + result.text("channel");
            case 401 -> "check the API key";
            case 402 -> "top up: %s needed, %s available"
                    .formatted(result.text("required"), result.text("available"));
            case 422 -> "correct the request: %s %s"
                    .formatted(result.text("code"), result.answer().path("errors"));
            case 429 -> "wait %s s: %s".formatted(result.retryAfter(), result.text("code"));
            default -> "%s: %s (request %s)".formatted(
                    result.text("code"), result.text("message"), result.text("request_id"));
        });
        System.exit(result.status() == 200 ? 0 : 1);
    }
}
