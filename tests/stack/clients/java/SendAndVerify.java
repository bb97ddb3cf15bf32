import java.util.List;
import kvitok.ApiClient;
import kvitok.ApiException;
import kvitok.api.LinksApi;
import kvitok.api.MessagesApi;
import kvitok.api.OtpApi;
import kvitok.model.Error;
import kvitok.model.Link;
import kvitok.model.LinkResponse;
import kvitok.model.NewLink;
import kvitok.model.SendCodeRequest;
import kvitok.model.SendStatus;
import kvitok.model.VerifyCodeRequest;

/** Send a code and verify it by the Java client that openapi-generator generates from the schema. */
public class SendAndVerify {
  static final String PHONE = System.getenv("PHONE");
  static final ApiClient CLIENT = new ApiClient();

  interface Call {
    Object run() throws ApiException;
  }

  static Error refusal(Call call) throws Exception {
    try {
      call.run();
    } catch (ApiException refused) {
      return CLIENT.getObjectMapper().readValue(refused.getResponseBody(), Error.class);
    }
    throw new IllegalStateException("it was not refused");
  }

  static void expect(boolean truth, String said) {
    if (!truth) throw new IllegalStateException(said);
  }

  public static void main(String[] args) throws Exception {
    CLIENT.updateBaseUri(System.getenv("KVITOK_URL"));
    String key = "Bearer " + System.getenv("KVITOK_KEY");
    CLIENT.setRequestInterceptor(request -> request.header("Authorization", key));
    OtpApi codes = new OtpApi(CLIENT);
    LinksApi links = new LinksApi(CLIENT);

    SendCodeRequest misdialled = new SendCodeRequest().phone("12");
    Error refused = refusal(() -> codes.sendCode(misdialled, null, null, null));
    expect(!refused.getSuccess() && refused.getRequestId().startsWith("req_"), "no typed error");

    SendCodeRequest request = new SendCodeRequest().phone(PHONE);
    SendStatus status = codes.sendCode(request, null, null, PHONE).getStatus();
    expect(List.of(SendStatus.SENT, SendStatus.DELIVERED).contains(status), "not sent");

    String code = new MessagesApi(CLIENT)
        .listTestMessages(PHONE, null, null, null, null, null, null, null, null, null)
        .getData().get(0).getCode();
    char last = (char) ('0' + (code.charAt(code.length() - 1) - '0' + 1) % 10);
    String wrong = code.substring(0, code.length() - 1) + last;
    VerifyCodeRequest guess = new VerifyCodeRequest().phone(PHONE).code(wrong);
    Error failed = refusal(() -> codes.verifyCode(guess, null, null, null));
    expect(failed.getCode().equals("code_invalid"), "a wrong code was not refused");
    VerifyCodeRequest right = new VerifyCodeRequest().phone(PHONE).code(code);
    int year = codes.verifyCode(right, null, null, null).getVerifiedAt().getYear();

    NewLink newLink = new NewLink().url(java.net.URI.create("https://shop.example/orders/1024"));
    var made = links.shortenLink(newLink, null, null, null);
    LinkResponse link = links.getLink(made.getId(), null);
    List<Link> listed =
        links.listLinks(null, made.getSlug(), null, null, null, null, null, null).getData();
    expect(listed.get(0).getId().equals(made.getId()), "not in the list");

    System.out.printf(
        "%d left, verified in %d, %s", failed.getAttemptsLeft(), year, link.getState());
  }
}
