<?php

// Send a message with a short link to a phone.

declare(strict_types=1);

$request = [
    'phone' => getenv('PHONE'),
    'url' => getenv('LINK'),
    'text' => 'Your order is on its way: :link', // the short link takes the place of :link
];

$curl = curl_init(getenv('KVITOK_URL') . '/links/send');
curl_setopt_array($curl, [
    CURLOPT_HTTPHEADER => [
        'Authorization: Bearer ' . getenv('KVITOK_KEY'),
        'Content-Type: application/json',
    ],
    CURLOPT_POSTFIELDS => json_encode($request, JSON_THROW_ON_ERROR),
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

echo "{$answer['short_url']} by {$answer['channel']}: {$answer['status']}\n";
