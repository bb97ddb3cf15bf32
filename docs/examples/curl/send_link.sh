#!/usr/bin/env bash
# Send a message with a short link to a phone.
set -euo pipefail

text="Your order is on its way: :link" # the short link takes the place of :link

answer=$(jq -n --arg phone "$PHONE" --arg url "$LINK" --arg text "$text" '{$phone, $url, $text}' |
  curl --silent --show-error --max-time 10 "$KVITOK_URL/links/send" \
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

jq -r '"\(.short_url) by \(.channel): \(.status)"' <<<"$answer"
