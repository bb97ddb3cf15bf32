// Send a one-time code to the phone of a user.

using System.Net.Http.Headers;
using System.Text.Json.Serialization;

using var client = new HttpClient { Timeout = TimeSpan.FromSeconds(10) };
client.DefaultRequestHeaders.Authorization =
    new AuthenticationHeaderValue("Bearer", Environment.GetEnvironmentVariable("KVITOK_KEY"));

var url = Environment.GetEnvironmentVariable("KVITOK_URL") + "/otp/send";
var phone = Environment.GetEnvironmentVariable("PHONE");
using var response = await client.PostAsJsonAsync(url, new { phone });
if (response.Content.Headers.ContentType?.MediaType != "application/json") // a proxy's own page
{
    Console.Error.WriteLine($"no answer from the service: {(int)response.StatusCode}");
    return 1;
}
var answer = (await response.Content.ReadFromJsonAsync<Answer>())!;

if (!answer.Success)
{
    Console.Error.WriteLine($"{answer.Code}: {answer.Message} (request {answer.RequestId})");
    return 1;
}

Console.WriteLine($"{answer.Message}, valid for {answer.ExpiresIn} s: {answer.Id}");
return 0;

record Answer(
    bool Success,
    string Message,
    string? Id,
    [property: JsonPropertyName("expires_in")] int? ExpiresIn,
    string? Code, // why not, when Success is false
    [property: JsonPropertyName("request_id")] string? RequestId);
