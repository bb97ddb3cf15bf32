SELECT r.rolsuper AS is_superuser,
       pg_has_role(c.relowner, 'MEMBER') AS is_owner,
       has_table_privilege(c.oid, 'UPDATE') OR has_table_privilege(c.oid, 'DELETE')
         OR has_table_privilege(c.oid, 'TRUNCATE') AS may_change
FROM pg_class c, pg_roles r
WHERE c.oid = %s::regclass AND r.rolname = current_user
