// Receive webhooks and believe only those that the service signed.

using System.Security.Cryptography;
using System.Text;
using System.Text.Json;

const long Tolerance = 5 * 60; // seconds
var secret = Environment.GetEnvironmentVariable("KVITOK_SECRET") ?? "";
var key = Convert.FromBase64String(secret.StartsWith("whsec_") ? secret[6..] : secret);

var app = WebApplication.Create();

app.MapPost("/{**path}", async (HttpRequest request) =>
{
    using var buffer = new MemoryStream();
    await request.Body.CopyToAsync(buffer);
    var body = buffer.ToArray(); // the bytes as sent: parsing comes after the check
    if (!IsGenuine(request.Headers, body)) return Results.BadRequest();

    using var webhook = JsonDocument.Parse(body);
    // The same event can come twice: act once per webhook-id, and answer at once.
    Console.WriteLine($"{webhook.RootElement.GetProperty("type")} " +
                      $"{webhook.RootElement.GetProperty("data")}");
    return Results.NoContent();
});

app.Run($"http://127.0.0.1:{Environment.GetEnvironmentVariable("PORT") ?? "8080"}");

bool IsGenuine(IHeaderDictionary headers, byte[] body)
{
    var id = headers["webhook-id"].ToString();
    var timestamp = headers["webhook-timestamp"].ToString();
    if (!long.TryParse(timestamp, out var seconds)) return false;
    var age = DateTimeOffset.UtcNow.ToUnixTimeSeconds() - seconds;
    if (age is < -Tolerance or > Tolerance) return false;

    var signed = Encoding.UTF8.GetBytes($"{id}.{timestamp}.").Concat(body).ToArray();
    var expected = "v1," + Convert.ToBase64String(HMACSHA256.HashData(key, signed));
    // While a secret is being replaced there are two signatures, separated by a space.
    return headers["webhook-signature"].ToString().Split(' ').Any(signature =>
        CryptographicOperations.FixedTimeEquals( // in constant time
            Encoding.UTF8.GetBytes(signature), Encoding.UTF8.GetBytes(expected)));
}
