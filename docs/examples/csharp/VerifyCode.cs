// Check the code that a user typed in.

using System.Net.Http.Headers;
using System.Text.Json.Serialization;

using var client = new HttpClient { Timeout = TimeSpan.FromSeconds(10) };
client.DefaultRequestHeaders.Authorization =
    new AuthenticationHeaderValue("Bearer", Environment.GetEnvironmentVariable("KVITOK_KEY"));

var url = Environment.GetEnvironmentVariable("KVITOK_URL") + "/otp/verify";
var phone = Environment.GetEnvironmentVariable("PHONE");
var code = Environment.GetEnvironmentVariable("CODE");
using var response = await client.PostAsJsonAsync(url, new { phone, code });
if (response.Content.Headers.ContentType?.MediaType != "application/json") // a proxy's own page
{
    Console.Error.WriteLine($"no answer from the service: {(int)response.StatusCode}");
    return 1;
}
var answer = (await response.Content.ReadFromJsonAsync<Answer>())!;

if (answer.Success)
{
    Console.WriteLine($"verified at {answer.VerifiedAt:O}");
    return 0;
}

Console.Error.WriteLine(answer.Code switch
{
    "code_invalid" => $"wrong code, {answer.AttemptsLeft} attempts left",
    // code_expired, code_used, too_many_attempts: the user needs a new code.
    _ => $"{answer.Code}: {answer.Message} (request {answer.RequestId})",
});
return 1;

record Answer(
    bool Success,
    string Message,
    [property: JsonPropertyName("verified_at")] DateTimeOffset? VerifiedAt,
    string? Code, // why not, when Success is false
    [property: JsonPropertyName("attempts_left")] int? AttemptsLeft,
    [property: JsonPropertyName("request_id")] string? RequestId);
