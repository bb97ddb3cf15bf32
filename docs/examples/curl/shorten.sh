#!/usr/bin/env bash
# Make a short link.
set -euo pipefail

answer=$(jq -n --arg url "$LINK" '{$url, expires_in: (7 * 24 * 3600)}' |
  curl --silent --show-error --max-time 10 "$KVITOK_URL/links/shorten" \
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

jq -r '"\(.short_url) until \(.expires_at)"' <<<"$answer"
