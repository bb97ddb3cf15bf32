#!/usr/bin/env bash
# Believe a webhook only if the service signed it: the body comes on standard input, its
# headers in WEBHOOK_ID, WEBHOOK_TIMESTAMP and WEBHOOK_SIGNATURE.
set -euo pipefail

tolerance=$((5 * 60)) # seconds
body=$(mktemp)
trap 'rm -f "$body"' EXIT
cat >"$body" # the bytes as sent: a shell variable would lose some

refuse() {
  echo "refused: $1" >&2
  exit 1
}

hmac() { # hmac KEY_IN_HEX <data: the raw bytes
  openssl dgst -sha256 -mac HMAC -macopt "hexkey:$1" -binary
}

[[ $WEBHOOK_TIMESTAMP =~ ^[0-9]+$ ]] || refuse "no time"
age=$(($(date +%s) - WEBHOOK_TIMESTAMP))
((${age#-} <= tolerance)) || refuse "too old, or from the future"

secret=$(base64 --decode <<<"${KVITOK_SECRET#whsec_}" | od -An -v -tx1 | tr -d ' \n')
expected=v1,$({ printf '%s.%s.' "$WEBHOOK_ID" "$WEBHOOK_TIMESTAMP"; cat "$body"; } |
  hmac "$secret" | base64)

# A shell compares in time that tells; under a random key it tells nothing of use.
blind=$(openssl rand -hex 32)
digest() {
  printf '%s' "$1" | hmac "$blind" | base64
}

# While a secret is being replaced there are two signatures, separated by a space.
for signature in $WEBHOOK_SIGNATURE; do
  if [[ $(digest "$signature") == "$(digest "$expected")" ]]; then
    # The same event can come twice: act once per WEBHOOK_ID.
    jq -r '"\(.type) \(.data)"' "$body"
    exit
  fi
done
refuse "no signature matches"
