<?php

// Receive webhooks and believe only those that the service signed.
// Try it with: php -S 127.0.0.1:8080 verify_webhook.php

declare(strict_types=1);

const TOLERANCE = 5 * 60; // seconds

function isGenuine(string $secret, string $body): bool
{
    $id = $_SERVER['HTTP_WEBHOOK_ID'] ?? '';
    $timestamp = $_SERVER['HTTP_WEBHOOK_TIMESTAMP'] ?? '';
    if (!ctype_digit($timestamp) || abs(time() - (int) $timestamp) > TOLERANCE) {
        return false;
    }
    $hash = hash_hmac('sha256', "$id.$timestamp.$body", $secret, binary: true);
    $expected = 'v1,' . base64_encode($hash);
    // While a secret is being replaced there are two signatures, separated by a space.
    foreach (explode(' ', $_SERVER['HTTP_WEBHOOK_SIGNATURE'] ?? '') as $signature) {
        if (hash_equals($expected, $signature)) { // in constant time
            return true;
        }
    }
    return false;
}

$secret = base64_decode(preg_replace('/^whsec_/', '', getenv('KVITOK_SECRET')), strict: true);
$body = file_get_contents('php://input'); // the bytes as sent: parsing comes after the check

if ($secret === false || !isGenuine($secret, $body)) {
    http_response_code(400);
    exit;
}

$event = json_decode($body, true, flags: JSON_THROW_ON_ERROR);
// The same event can come twice: act once per webhook-id, and answer at once.
error_log("{$event['type']} " . json_encode($event['data']));
http_response_code(204);
