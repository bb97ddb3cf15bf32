// Make a short link.

using System.Net.Http.Headers;
using System.Text.Json.Serialization;

using var client = new HttpClient { Timeout = TimeSpan.FromSeconds(10) };
client.DefaultRequestHeaders.Authorization =
    new AuthenticationHeaderValue("Bearer", Environment.GetEnvironmentVariable("KVITOK_KEY"));

var link = new
{
    url = Environment.GetEnvironmentVariable("LINK"),
    expires_in = (int)TimeSpan.FromDays(7).TotalSeconds,
};
var url = Environment.GetEnvironmentVariable("KVITOK_URL") + "/links/shorten";
using var response = await client.PostAsJsonAsync(url, link);
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

Console.WriteLine($"{answer.ShortUrl} until {answer.ExpiresAt:O}");
return 0;

record Answer(
    bool Success,
    string Message,
    [property: JsonPropertyName("short_url")] string? ShortUrl,
    [property: JsonPropertyName("expires_at")] DateTimeOffset? ExpiresAt,
    string? Code, // why not, when Success is false
    [property: JsonPropertyName("request_id")] string? RequestId);
