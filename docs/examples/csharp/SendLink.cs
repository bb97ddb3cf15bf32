// Send a message with a short link to a phone.

using System.Net.Http.Headers;
using System.Text.Json.Serialization;

using var client = new HttpClient { Timeout = TimeSpan.FromSeconds(10) };
client.DefaultRequestHeaders.Authorization =
    new AuthenticationHeaderValue("Bearer", Environment.GetEnvironmentVariable("KVITOK_KEY"));

var message = new
{
    phone = Environment.GetEnvironmentVariable("PHONE"),
    url = Environment.GetEnvironmentVariable("LINK"),
    text = "Your order is on its way: :link", // the short link takes the place of :link
};
var url = Environment.GetEnvironmentVariable("KVITOK_URL") + "/links/send";
using var response = await client.PostAsJsonAsync(url, message);
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

Console.WriteLine($"{answer.ShortUrl} by {answer.Channel}: {answer.Status}");
return 0;

record Answer(
    bool Success,
    string Message,
    [property: JsonPropertyName("short_url")] string? ShortUrl,
    string? Channel,
    string? Status,
    string? Code, // why not, when Success is false
    [property: JsonPropertyName("request_id")] string? RequestId);
