<?php

// Check the code that a user typed in.

declare(strict_types=1);

$request = ['phone' => getenv('PHONE'), 'code' => getenv('CODE')];

$curl = curl_init(getenv('KVITOK_URL') . '/otp/verify');
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

if ($answer['success']) {
    echo "verified at {$answer['verified_at']}\n";
    exit;
}

fwrite(STDERR, match ($answer['code']) {
    'code_invalid' => "wrong code, {$answer['attempts_left']} attempts left\n",
    // code_expired, code_used, too_many_attempts: the user needs a new code.
    default => "{$answer['code']}: {$answer['message']} (request {$answer['request_id']})\n",
});
exit(1);
