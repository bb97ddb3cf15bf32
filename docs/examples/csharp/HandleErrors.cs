// Send a code: one message however often the network fails, and an answer to every refusal.

using System.Net.Http.Headers;
using System.Text.Json;
using System.Text.Json.Serialization;

using var client = new HttpClient { Timeout = TimeSpan.FromSeconds(10) };
client.DefaultRequestHeaders.Authorization =
    new AuthenticationHeaderValue("Bearer", Environment.GetEnvironmentVariable("KVITOK_KEY"));

Result result;
try
{
    result = await SendCode(Environment.GetEnvironmentVariable("PHONE"));
}
catch (HttpRequestException error)
{
    Console.Error.WriteLine(error.Message);
    return 1;
}
var (status, retryAfter, answer) = result;

Console.WriteLine(status switch
{
    200 => $"sent by {answer.Channel}",
    401 => "check the API key",
    402 => $"top up: {answer.Required} needed, {answer.Available} available",
    422 => $"correct the request: {answer.Code} {JsonSerializer.Serialize(answer.Errors)}",
    429 => $"wait {retryAfter?.TotalSeconds} s: {answer.Code}",
    _ => $"{answer.Code}: {answer.Message} (request {answer.RequestId})",
});
return status == 200 ? 0 : 1;

async Task<Result> SendCode(string? phone)
{
    // One key for all tries: the service knows them for one request and sends one message.
    var key = Guid.NewGuid().ToString();
    foreach (var seconds in new[] { 1, 2, 4 }) // before the second try, the third and the last
    {
        var pause = TimeSpan.FromSeconds(seconds);
        try
        {
            var reply = await Post(phone, key);
            if (reply.Status is not (409 or 500 or 503)) return reply;
            pause = reply.RetryAfter ?? pause;
        }
        catch (Exception error) when (error is HttpRequestException or TaskCanceledException)
        {
            // Nobody knows whether the code was sent; the next try finds out.
        }
        Console.WriteLine($"trying again in {pause.TotalSeconds} s");
        await Task.Delay(pause);
    }
    return await Post(phone, key);
}

async Task<Result> Post(string? phone, string idempotencyKey)
{
    var url = Environment.GetEnvironmentVariable("KVITOK_URL") + "/otp/send";
    using var request = new HttpRequestMessage(HttpMethod.Post, url)
    {
        Content = JsonContent.Create(new { phone }),
        Headers = { { "Idempotency-Key", idempotencyKey } },
    };
    using var response = await client.SendAsync(request);
    if (response.Content.Headers.ContentType?.MediaType != "application/json") // a proxy's own page
        throw new HttpRequestException($"no answer from the service: {(int)response.StatusCode}");
    var answer = await response.Content.ReadFromJsonAsync<Answer>();
    return new((int)response.StatusCode, response.Headers.RetryAfter?.Delta, answer!);
}

record Result(int Status, TimeSpan? RetryAfter, Answer Answer);

record Answer(
    string Message,
    string? Channel,
    string? Code,
    Dictionary<string, string[]>? Errors,
    int? Required,
    int? Available,
    [property: JsonPropertyName("request_id")] string? RequestId);
