-- Claims an order to poll: a minute after it was placed, then whenever its age has doubled, and
-- once it is overdue.
-- The claim is committed before the call, so that only one process polls a provider that hangs.
UPDATE billing_order SET asked_at = now() WHERE id = (
  SELECT id FROM billing_order
  WHERE state IN ('created', 'pending') AND gateway = %s
    AND (payment_id <> '' OR expires_at > now() AND NOT EXISTS (
      SELECT FROM billing_automaticorder automatic WHERE automatic.order_id = billing_order.id))
    AND (now() - COALESCE(asked_at, created_at)
           > GREATEST(interval '1 minute', COALESCE(asked_at, created_at) - created_at)
         OR expires_at < now() AND (asked_at IS NULL OR asked_at < expires_at))
  ORDER BY expires_at LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING id
