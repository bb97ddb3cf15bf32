<?php

// Send a code: one message however often the network fails, and an answer to every refusal.

declare(strict_types=1);

const PAUSES = [1, 2, 4]; // seconds before the second try, the third and the last

/** @return array{int, ?int, ?array<string, mixed>} the status, Retry-After and the answer */
function post(string $phone, string $idempotencyKey): array
{
    $retryAfter = null;
    $curl = curl_init(getenv('KVITOK_URL') . '/otp/send');
    curl_setopt_array($curl, [
        CURLOPT_HTTPHEADER => [
            'Authorization: Bearer ' . getenv('KVITOK_KEY'),
            'Content-Type: application/json',
            "Idempotency-Key: $idempotencyKey",
        ],
        CURLOPT_POSTFIELDS => json_encode(['phone' => $phone], JSON_THROW_ON_ERROR),
        CURLOPT_RETURNTRANSFER => true,
        CURLOPT_TIMEOUT => 10,
        CURLOPT_HEADERFUNCTION => function ($curl, string $line) use (&$retryAfter): int {
            if (preg_match('/^retry-after: (\d+)/i', $line, $found)) {
                $retryAfter = (int) $found[1];
            }
            return strlen($line);
        },
    ]);
    $body = curl_exec($curl);
    if ($body === false) {
        throw new RuntimeException(curl_error($curl)); // no connection, or no answer in time
    }
    $status = curl_getinfo($curl, CURLINFO_RESPONSE_CODE);
    // A proxy in between answers with a page of its own, 502 for example.
    $isAnswer = curl_getinfo($curl, CURLINFO_CONTENT_TYPE) === 'application/json';
    $answer = $isAnswer ? json_decode($body, true, flags: JSON_THROW_ON_ERROR) : null;
    return [$status, $retryAfter, $answer];
}

function sendCode(string $phone): array
{
    // One key for all tries: the service knows them for one request and sends one message.
    $key = bin2hex(random_bytes(16));
    foreach (PAUSES as $seconds) {
        try {
            [$status, $retryAfter, $answer] = $result = post($phone, $key);
            if ($answer !== null && !in_array($status, [409, 500, 503], true)) {
                return $result;
            }
            $seconds = $retryAfter ?? $seconds;
        } catch (RuntimeException | JsonException) {
            // Nobody knows whether the code was sent; the next try finds out.
        }
        echo "trying again in $seconds s\n";
        sleep($seconds);
    }
    return post($phone, $key);
}

[$status, $retryAfter, $answer] = sendCode(getenv('PHONE'));

if ($answer === null) {
    fwrite(STDERR, "no answer from the service: $status\n");
    exit(1);
}
echo match ($status) {
    200 => "sent by {$answer['channel']}",
    401 => 'check the API key',
    402 => "top up: {$answer['required']} needed, {$answer['available']} available",
    422 => "correct the request: {$answer['code']} " . json_encode($answer['errors'] ?? []),
    429 => "wait $retryAfter s: {$answer['code']}",
    default => "{$answer['code']}: {$answer['message']} (request {$answer['request_id']})",
}, "\n";
exit($status === 200 ? 0 : 1);
