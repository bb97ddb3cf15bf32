-- What the current role may do to a table that the application must only append to.
SELECT role.rolsuper AS is_superuser,
       pg_has_role(relation.relowner, 'MEMBER') AS is_owner,
       has_table_privilege(relation.oid, 'UPDATE') OR has_table_privilege(relation.oid, 'DELETE')
         OR has_table_privilege(relation.oid, 'TRUNCATE') AS may_change
FROM pg_class relation, pg_roles role
WHERE relation.oid = %s::regclass AND role.rolname = current_user
