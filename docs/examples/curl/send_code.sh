#!/usr/bin/env bash
# Send a one-time code to the phone of a user.
set -euo pipefail

answer=$(jq -n --arg phone "$PHONE" '{$phone}' |
  curl --silent --show-error --max-time 10 "$KVITOK_URL/otp/send" \
    --header "Authorization: Bearer $KVITOK_KEY" \
    --header "Content-Type: application/json" \
    --data-binary @-)

if ! jq -e 'has("success")' <<<"$answer" &>/dev/null; then # a proxy's own page
  echo "no answer from the service" >&2
  exit 1
fi
if [[ $(jq .success <<<"$answer") != true ]]; then
  jq -r '"\(.code): \(.message) (request \(.request_id))"' <<<"$answer" >&2
  exit 1
fi

jq -r '"\(.message), valid for \(.expires_in) s: \(.id)"' <<<"$answer"
