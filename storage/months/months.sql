-- Functions for tables partitioned by month, called by `partitions.py`.

-- The smallest UUIDv7 of a time (RFC 9562 §5.7): rows made since then have no smaller id.
CREATE OR REPLACE FUNCTION uuid7_at(at timestamptz) RETURNS uuid
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (lpad(to_hex(floor(extract(epoch FROM at) * 1000)::bigint), 12, '0')
        || '70008000000000000000')::uuid;

-- Runs with the rights of the tables' owner, so that the application need not own the books. A new
-- partition gets the indexes and storage parameters of the previous one, including indexes that are
-- unique within a month. It is created as a table and then attached, which blocks neither readers
-- nor writers of the parent. Other roles reach it only through the parent. Names are not looked up
-- in schemas where the application may create objects, and only the owner's tables are accepted.
CREATE OR REPLACE FUNCTION create_month_partition(parent regclass, month date) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  parent_name text := (SELECT relname FROM pg_class WHERE oid = parent);
  suffix text := to_char(month, '_YYYY_MM');
  name text := parent_name || suffix;
  key_type text;
  previous oid;
  local_index record;
  range_start text;
  range_end text;
  reader oid;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('create_month_partition', 0));
  SELECT format_type(attribute.atttypid, NULL) INTO key_type
  FROM pg_partitioned_table partitioned JOIN pg_attribute attribute
    ON attribute.attrelid = partitioned.partrelid AND attribute.attnum = partitioned.partattrs[0]
  WHERE partitioned.partrelid = parent;
  IF (SELECT relowner FROM pg_class WHERE oid = parent) <> current_user::regrole THEN
    RAISE EXCEPTION '% belongs to another role', parent USING ERRCODE = '42501';
  END IF;
  IF key_type IS NULL OR to_regclass('public.' || name) IS NOT NULL THEN
    RETURN false;
  END IF;
  SELECT class.oid INTO previous
  FROM pg_inherits inheritance JOIN pg_class class ON class.oid = inheritance.inhrelid
  WHERE inheritance.inhparent = parent AND class.relname ~ '_[0-9]{4}_[0-9]{2}$'
  ORDER BY class.relname DESC LIMIT 1;
  IF key_type = 'uuid' THEN
    range_start := public.uuid7_at(month::timestamp AT TIME ZONE 'UTC');
    range_end := public.uuid7_at((month + interval '1 month') AT TIME ZONE 'UTC');
  ELSE
    range_start := month::timestamp AT TIME ZONE 'UTC';
    range_end := (month + interval '1 month') AT TIME ZONE 'UTC';
  END IF;
  EXECUTE format('CREATE TABLE public.%I (LIKE %s INCLUDING ALL EXCLUDING IDENTITY)', name, parent);
  IF (SELECT reloptions FROM pg_class WHERE oid = previous) IS NOT NULL THEN
    EXECUTE format('ALTER TABLE public.%I SET (%s)', name,
      (SELECT array_to_string(reloptions, ', ') FROM pg_class WHERE oid = previous));
  END IF;
  FOR local_index IN
    SELECT pg_get_indexdef(index.indexrelid) AS definition, class.relname
    FROM pg_index index JOIN pg_class class ON class.oid = index.indexrelid
    WHERE index.indrelid = previous AND index.indisunique
      AND NOT EXISTS (SELECT FROM pg_inherits WHERE inhrelid = index.indexrelid)
  LOOP
    EXECUTE format('CREATE UNIQUE INDEX %I ON public.%I USING%s',
      regexp_replace(local_index.relname, '_[0-9]{4}_[0-9]{2}$', '') || suffix, name,
      substring(local_index.definition FROM ' USING(.*)$'));
  END LOOP;
  EXECUTE format('ALTER TABLE %s ATTACH PARTITION public.%I FOR VALUES FROM (%L) TO (%L)',
    parent, name, range_start, range_end);
  FOR reader IN
    SELECT DISTINCT acl.grantee FROM pg_class class, aclexplode(class.relacl) AS acl
    WHERE class.relname = name AND class.relnamespace = 'public'::regnamespace
      AND acl.grantee <> class.relowner
  LOOP
    EXECUTE format('REVOKE ALL ON TABLE public.%I FROM %s', name,
      CASE reader WHEN 0 THEN 'PUBLIC' ELSE reader::regrole::text END);
  END LOOP;
  RETURN true;
END $$;
REVOKE ALL ON FUNCTION create_month_partition(regclass, date) FROM PUBLIC;

-- Runs with the rights of the tables' owner, and only on its tables.
CREATE OR REPLACE FUNCTION analyze_month_partition(month regclass) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_class WHERE oid = month AND relispartition
                 AND relowner = current_user::regrole) THEN
    RAISE EXCEPTION '% is not a partition of this owner', month USING ERRCODE = '42501';
  END IF;
  IF pg_try_advisory_xact_lock(hashtextextended('analyze_month_partition', 0)) THEN
    EXECUTE format('ANALYZE %s', month);  -- otherwise another worker is doing it
  END IF;
END $$;
REVOKE ALL ON FUNCTION analyze_month_partition(regclass) FROM PUBLIC;
