#!/usr/bin/env bash
# Send a code: one message however often the network fails, and an answer to every refusal.
set -euo pipefail

# One key for all tries: the service knows them for one request and sends one message.
key=$(cat /proc/sys/kernel/random/uuid)
headers=$(mktemp)
trap 'rm -f "$headers"' EXIT

post() { # sets $answer and $status, which is 000 without an answer
  answer=$(jq -n --arg phone "$PHONE" '{$phone}' |
    curl --silent --max-time 10 "$KVITOK_URL/otp/send" \
      --header "Authorization: Bearer $KVITOK_KEY" \
      --header "Content-Type: application/json" \
      --header "Idempotency-Key: $key" \
      --dump-header "$headers" --write-out '\n%{http_code}' --data-binary @-) || true
  status=${answer##*$'\n'} answer=${answer%$'\n'*}
  # A proxy in between answers with a page of its own, 502 for example: that is no answer.
  jq --exit-status 'has("success")' <<<"$answer" &>/dev/null || status=000
}

retry_after() {
  tr -d '\r' <"$headers" | awk -F ': ' 'tolower($1) == "retry-after" { print $2 }'
}

for pause in 1 2 4 last; do # seconds before the second try, the third and the last
  post
  # Without an answer nobody knows whether the code was sent; the next try finds out.
  [[ $status =~ ^(000|409|500|503)$ && $pause != last ]] || break
  seconds=$(retry_after)
  echo "trying again in ${seconds:=$pause} s"
  sleep "$seconds"
done

case $status in
  200) jq -r '"sent by \(.channel)"' <<<"$answer"; exit ;;
  000) echo "no answer" ;;
  401) echo "check the API key" ;;
  402) jq -r '"top up: \(.required) needed, \(.available) available"' <<<"$answer" ;;
  422) jq -r '"correct the request: \(.code) \(.errors // "")"' <<<"$answer" ;;
  429) echo "wait $(retry_after) s: $(jq -r .code <<<"$answer")" ;;
  *) jq -r '"\(.code): \(.message) (request \(.request_id))"' <<<"$answer" ;;
esac >&2
exit 1
