<?php

// Send a one-time code to the phone of a user.

declare(strict_types=1);

$curl = curl_init(getenv('KVITOK_URL') . '/otp/send');
curl_setopt_array($curl, [
    CURLOPT_HTTPHEADER => [
        'Authorization: Bearer ' . getenv('KVITOK_KEY'),
        'Content-Type: application/json',
    ],
    CURLOPT_POSTFIELDS => json_encode(['phone' => getenv('PHONE')], JSON_THROW_ON_ERROR),
    CURLOPT_RETURNTRANSFER => true,
    CURLOPT_TIMEOUT => 10,
]);
$body = curl_exec($curl);
if ($body === false) {
    throw new RuntimeException(curl_error($curl));
}
if (curl_getinfo($curl, CURLINFO_CONTENT_TYPE) !== 'application/json') {
    $status = curl_getinfo($curl, CURLINFO_RESPONSE_CODE);
    fwrite(STDERR, "no answer from the service: $status\n"); // a proxy's own page
    exit(1);
}
$answer = json_decode($body, true, flags: JSON_THROW_ON_ERROR);

if (!$answer['success']) {
    fwrite(STDERR, "{$answer['code']}: {$answer['message']} (request {$answer['request_id']})\n");
    exit(1);
}

echo "{$answer['message']}, valid for {$answer['expires_in']} s: {$answer['id']}\n";
