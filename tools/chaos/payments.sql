--: orders: each order, and the tokens credited for it
SELECT billing_order.id::text AS order_id, billing_order.gateway, billing_order.state,
  billing_order.tokens,
  (SELECT count(*) FROM billing_payment payment
   WHERE payment.order_id = billing_order.id AND payment.is_credited) AS payments,
  credit.many AS transfers, credit.tokens AS credited
FROM billing_order, LATERAL (
  SELECT count(*) AS many, COALESCE(sum(amount), 0)::bigint AS tokens FROM billing_transfer
  WHERE message_id IS NULL AND kind = 'top_up'
    AND key = 'top_up:' || replace(billing_order.id::text, '-', '')
) AS credit
ORDER BY billing_order.id

--: strange: credits without an order
SELECT COALESCE(key, id::text) FROM billing_transfer
WHERE kind = 'top_up' AND key NOT IN (
  SELECT 'top_up:' || replace(id::text, '-', '') FROM billing_order)

--: gateway
SELECT pg_advisory_xact_lock(hashtextextended('gateway:' || %(gateway)s, 0))

--: order
SELECT FROM billing_order WHERE id = %(order)s FOR UPDATE

--: wallet
SELECT FROM billing_wallet WHERE company_id = %(company)s FOR UPDATE

--: waiting: sessions that wait for this one's locks
SELECT count(*) FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))
