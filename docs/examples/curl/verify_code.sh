#!/usr/bin/env bash
# Check the code that a user typed in.
set -euo pipefail

answer=$(jq -n --arg phone "$PHONE" --arg code "$CODE" '{$phone, $code}' |
  curl --silent --show-error --max-time 10 "$KVITOK_URL/otp/verify" \
    --header "Authorization: Bearer $KVITOK_KEY" \
    --header "Content-Type: application/json" \
    --data-binary @-)

if ! jq -e 'has("success")' <<<"$answer" &>/dev/null; then # a proxy's own page
  echo "no answer from the service" >&2
  exit 1
fi
if [[ $(jq .success <<<"$answer") == true ]]; then
  jq -r '"verified at \(.verified_at)"' <<<"$answer"
elif [[ $(jq -r .code <<<"$answer") == code_invalid ]]; then
  jq -r '"wrong code, \(.attempts_left) attempts left"' <<<"$answer" >&2
  exit 1
else
  # code_expired, code_used, too_many_attempts: the user needs a new code.
  jq -r '"\(.code): \(.message) (request \(.request_id))"' <<<"$answer" >&2
  exit 1
fi
