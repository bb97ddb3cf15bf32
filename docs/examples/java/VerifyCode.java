// Check the code that a user typed in.

import com.fasterxml.jackson.databind.ObjectMapper;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.Map;

public class VerifyCode {
    public static void main(String[] args) throws Exception {
        var json = new ObjectMapper();
        var client = HttpClient.newHttpClient();

        var body = json.writeValueAsString(
                Map.of("phone", System.getenv("PHONE"), "code", System.getenv("CODE")));
        var url = URI.create(System.getenv("KVITOK_URL") + "/otp/verify");
        var request = HttpRequest.newBuilder(url)
                .header("Authorization", "Bearer " + System.getenv("KVITOK_KEY"))
                .header("Content-Type", "application/json")
                .timeout(Duration.ofSeconds(10))
                .POST(BodyPublishers.ofString(body))
                .build();
        var response = client.send(request, BodyHandlers.ofString());
        var type = response.headers().firstValue("Content-Type").orElse("");
        if (!type.equals("application/json")) { // a proxy's own page
            System.err.println("no answer from the service: " + response.statusCode());
            System.exit(1);
        }
        var answer = json.readTree(response.body());

        if (answer.path("success").asBoolean()) {
            System.out.println("verified at " + answer.path("verified_at").asText());
            return;
        }
        switch (answer.path("code").asText()) {
            case "code_invalid" -> System.err.printf("wrong code, %d attempts left%n",
                    answer.path("attempts_left").asInt());
            // code_expired, code_used, too_many_attempts: the user needs a new code.
            default -> System.err.printf("%s: %s (request %s)%n", answer.path("code").asText(),
                    answer.path("message").asText(), answer.path("request_id").asText());
        }
        System.exit(1);
    }
}
