// Send a one-time code to the phone of a user.

import com.fasterxml.jackson.databind.ObjectMapper;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.Map;

public class SendCode {
    public static void main(String[] args) throws Exception {
        var json = new ObjectMapper();
        var client = HttpClient.newHttpClient();

        var body = json.writeValueAsString(Map.of("phone", System.getenv("PHONE")));
        var url = URI.create(System.getenv("KVITOK_URL") + "/otp/send");
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

        if (!answer.path("success").asBoolean()) {
            System.err.printf("%s: %s (request %s)%n", answer.path("code").asText(),
                    answer.path("message").asText(), answer.path("request_id").asText());
            System.exit(1);
        }
        System.out.printf("%s, valid for %d s: %s%n", answer.path("message").asText(),
                answer.path("expires_in").asInt(), answer.path("id").asText());
    }
}
