// Receive webhooks and believe only those that the service signed.

import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

public class VerifyWebhook {
    static final byte[] SECRET =
            Base64.getDecoder().decode(System.getenv("KVITOK_SECRET").replaceFirst("^whsec_", ""));
    static final Duration TOLERANCE = Duration.ofMinutes(5);

    static boolean isGenuine(Headers headers, byte[] body) throws GeneralSecurityException {
        var id = headers.getFirst("webhook-id");
        var timestamp = headers.getFirst("webhook-timestamp");
        var signatures = headers.getFirst("webhook-signature");
        if (id == null || signatures == null || timestamp == null
                || !timestamp.matches("\\d{1,12}")) {
            return false;
        }
        var sentAt = Instant.ofEpochSecond(Long.parseLong(timestamp));
        if (Duration.between(sentAt, Instant.now()).abs().compareTo(TOLERANCE) > 0) {
            return false;
        }
        var mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(SECRET, "HmacSHA256"));
        mac.update((id + "." + timestamp + ".").getBytes(StandardCharsets.UTF_8));
        var expected = ("v1," + Base64.getEncoder().encodeToString(mac.doFinal(body))).getBytes();
        // While a secret is being replaced there are two signatures, separated by a space.
        for (var signature : signatures.split(" ")) {
            if (MessageDigest.isEqual(signature.getBytes(), expected)) { // in constant time
                return true;
            }
        }
        return false;
    }

    static void receive(HttpExchange exchange) throws IOException {
        try (exchange) {
            var body = exchange.getRequestBody().readAllBytes(); // as sent: parsing comes later
            if (!isGenuine(exchange.getRequestHeaders(), body)) {
                exchange.sendResponseHeaders(400, -1);
                return;
            }
            var event = new ObjectMapper().readTree(body);
            // The same event can come twice: act once per webhook-id, and answer at once.
            System.out.println(event.path("type").asText() + " " + event.path("data"));
            exchange.sendResponseHeaders(204, -1);
        } catch (GeneralSecurityException error) {
            throw new IllegalStateException(error);
        }
    }

    public static void main(String[] args) throws IOException {
        var port = Integer.parseInt(System.getenv().getOrDefault("PORT", "8080"));
        var server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 0);
        server.createContext("/", VerifyWebhook::receive);
        server.start();
    }
}
