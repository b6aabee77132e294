-- Probes of programs that were not run, in the form that their sources have.
-- Each entry: the labels of PostgreSQL 15's answer, the values and their types, and the text.
-- DBeaver: dbeaver/dbeaver, plugins/org.jkiss.dbeaver.ext.postgresql/…/model/PostgreDataSource.java, PostgreDatabase.java, PostgreSchema.java
--- {"labels": ["current_schema", "session_user"]}
SELECT current_schema(), session_user
--- {"labels": ["oid", "oid", "nspname", "nspowner", "nspacl", "description"]}
SELECT n.oid, n.*, d.description FROM pg_catalog.pg_namespace n LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = n.oid AND d.objsubid = 0 AND d.classoid = 'pg_namespace'::regclass ORDER BY n.nspname
--- {"labels": ["search_path"]}
SHOW search_path
--- {"labels": ["oid", "oid", "datname", "datdba", "encoding", "datlocprovider", "datistemplate", "datallowconn", "datconnlimit", "datfrozenxid", "datminmxid", "dattablespace", "datcollate", "datctype", "daticulocale", "datcollversion", "datacl"]}
SELECT db.oid, db.* FROM pg_catalog.pg_database db WHERE datallowconn AND NOT datistemplate AND datname = 'people'
--- {"labels": ["name", "setting", "unit", "category", "short_desc", "extra_desc", "context", "vartype", "source", "min_val", "max_val", "enumvals", "boot_val", "reset_val", "sourcefile", "sourceline", "pending_restart"]}
SELECT * FROM pg_catalog.pg_settings WHERE name = 'standard_conforming_strings'
--- {"labels": ["oid", "enumtypid", "enumsortorder", "enumlabel"]}
SELECT * FROM pg_catalog.pg_enum WHERE 1 <> 1 LIMIT 1
--- {"labels": ["reltype"]}
SELECT reltype FROM pg_catalog.pg_class WHERE 1 <> 1 LIMIT 1
--- {"labels": ["oid", "oid", "typname", "typnamespace", "typowner", "typlen", "typbyval", "typtype", "typcategory", "typispreferred", "typisdefined", "typdelim", "typrelid", "typsubscript", "typelem", "typarray", "typinput", "typoutput", "typreceive", "typsend", "typmodin", "typmodout", "typanalyze", "typalign", "typstorage", "typnotnull", "typbasetype", "typtypmod", "typndims", "typcollation", "typdefaultbin", "typdefault", "typacl", "relkind", "base_type_name", "description"]}
SELECT t.oid, t.*, c.relkind, format_type(nullif(t.typbasetype, 0), t.typtypmod) AS base_type_name, d.description FROM pg_catalog.pg_type t LEFT OUTER JOIN pg_catalog.pg_type et ON et.oid = t.typelem LEFT OUTER JOIN pg_catalog.pg_class c ON c.oid = t.typrelid LEFT OUTER JOIN pg_catalog.pg_description d ON t.oid = d.objoid WHERE t.typname IS NOT NULL AND (c.relkind IS NULL OR c.relkind = 'c') AND (et.typcategory IS NULL OR et.typcategory <> 'C')
--- {"labels": ["oid", "oid", "relname", "relnamespace", "reltype", "reloftype", "relowner", "relam", "relfilenode", "reltablespace", "relpages", "reltuples", "relallvisible", "reltoastrelid", "relhasindex", "relisshared", "relpersistence", "relkind", "relnatts", "relchecks", "relhasrules", "relhastriggers", "relhassubclass", "relrowsecurity", "relforcerowsecurity", "relispopulated", "relreplident", "relispartition", "relrewrite", "relfrozenxid", "relminmxid", "relacl", "reloptions", "relpartbound", "description", "partition_expr", "partition_key"]}
SELECT c.oid, c.*, d.description, pg_catalog.pg_get_expr(c.relpartbound, c.oid) AS partition_expr, pg_catalog.pg_get_partkeydef(c.oid) AS partition_key FROM pg_catalog.pg_class c LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = c.oid AND d.objsubid = 0 AND d.classoid = 'pg_class'::regclass WHERE c.relnamespace = 2200 AND c.relkind NOT IN ('i', 'I', 'c')
--- {"labels": ["relname", "attrelid", "attname", "atttypid", "attstattarget", "attlen", "attnum", "attndims", "attcacheoff", "atttypmod", "attbyval", "attalign", "attstorage", "attcompression", "attnotnull", "atthasdef", "atthasmissing", "attidentity", "attgenerated", "attisdropped", "attislocal", "attinhcount", "attcollation", "attacl", "attoptions", "attfdwoptions", "attmissingval", "def_value", "description", "objid"]}
SELECT c.relname, a.*, pg_catalog.pg_get_expr(ad.adbin, ad.adrelid, true) AS def_value, dsc.description, dep.objid FROM pg_catalog.pg_attribute a INNER JOIN pg_catalog.pg_class c ON a.attrelid = c.oid LEFT OUTER JOIN pg_catalog.pg_attrdef ad ON a.attrelid = ad.adrelid AND a.attnum = ad.adnum LEFT OUTER JOIN pg_catalog.pg_description dsc ON c.oid = dsc.objoid AND a.attnum = dsc.objsubid LEFT OUTER JOIN pg_depend dep ON dep.refobjid = a.attrelid AND dep.deptype = 'i' AND dep.refobjsubid = a.attnum AND dep.classid = dep.refclassid WHERE NOT a.attisdropped AND c.oid = 16384 ORDER BY a.attnum
--- {"labels": ["oid", "oid", "conname", "connamespace", "contype", "condeferrable", "condeferred", "convalidated", "conrelid", "contypid", "conindid", "conparentid", "confrelid", "confupdtype", "confdeltype", "confmatchtype", "conislocal", "coninhcount", "connoinherit", "conkey", "confkey", "conpfeqop", "conppeqop", "conffeqop", "confdelsetcols", "conexclop", "conbin", "tabrelname", "refnamespace", "description"]}
SELECT c.oid, c.*, t.relname AS tabrelname, rt.relnamespace AS refnamespace, d.description FROM pg_catalog.pg_constraint c INNER JOIN pg_catalog.pg_class t ON t.oid = c.conrelid LEFT OUTER JOIN pg_catalog.pg_class rt ON rt.oid = c.confrelid LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = c.oid WHERE c.conrelid = 16384 ORDER BY c.oid
--- {"labels": ["indexrelid", "indrelid", "indnatts", "indnkeyatts", "indisunique", "indnullsnotdistinct", "indisprimary", "indisexclusion", "indimmediate", "indisclustered", "indisvalid", "indcheckxmin", "indisready", "indislive", "indisreplident", "indkey", "indcollation", "indclass", "indoption", "indexprs", "indpred", "keys", "relname", "relnamespace", "tabrelname", "description", "pred_expr"]}
SELECT i.*, i.indkey AS keys, c.relname, c.relnamespace, tc.relname AS tabrelname, dsc.description, pg_catalog.pg_get_expr(i.indpred, i.indrelid) AS pred_expr FROM pg_catalog.pg_index i INNER JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid INNER JOIN pg_catalog.pg_class tc ON tc.oid = i.indrelid LEFT OUTER JOIN pg_catalog.pg_description dsc ON i.indexrelid = dsc.objoid WHERE i.indrelid = 16384 ORDER BY tabrelname, c.relname
--- {"labels": ["oid", "total_rel_size", "rel_size"]}
SELECT c.oid, pg_catalog.pg_total_relation_size(c.oid) AS total_rel_size, pg_catalog.pg_relation_size(c.oid) AS rel_size FROM pg_class c WHERE c.relnamespace = 2200
--- {"labels": ["oid", "rolname", "rolsuper", "rolinherit", "rolcreaterole", "rolcreatedb", "rolcanlogin", "rolreplication", "rolconnlimit", "rolpassword", "rolvaliduntil", "rolbypassrls", "rolconfig", "oid", "description"]}
SELECT a.oid, a.*, pd.description FROM pg_catalog.pg_roles a LEFT JOIN pg_catalog.pg_shdescription pd ON a.oid = pd.objoid ORDER BY a.rolname
--- {"labels": ["oid", "spcname", "spcowner", "spcacl", "spcoptions"]}
SELECT * FROM pg_catalog.pg_tablespace
--- {"labels": ["oid", "oid", "amname", "amhandler", "amtype"]}
SELECT am.oid, am.* FROM pg_catalog.pg_am am ORDER BY am.amname
-- Metabase: metabase/metabase, src/metabase/driver/postgres.clj
--- {"labels": ["TimeZone"]}
SHOW timezone
--- {"labels": ["nspname", "typname"]}
SELECT nspname, typname FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace WHERE t.oid IN (SELECT DISTINCT enumtypid FROM pg_enum e)
--- {"labels": ["schema", "name", "type", "description", "estimated_row_count"]}
SELECT n.nspname AS "schema", c.relname AS "name", CASE c.relkind WHEN 'r' THEN 'TABLE' WHEN 'v' THEN 'VIEW' ELSE NULL END AS "type", d.description AS "description", stat.n_live_tup AS "estimated_row_count" FROM pg_catalog.pg_class AS c INNER JOIN pg_catalog.pg_namespace AS n ON c.relnamespace = n.oid LEFT JOIN pg_catalog.pg_description AS d ON c.oid = d.objoid AND d.objsubid = '0' AND d.classoid = 'pg_class'::regclass LEFT JOIN pg_stat_user_tables AS stat ON n.nspname = stat.schemaname AND c.relname = stat.relname WHERE c.relnamespace = n.oid AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' AND c.relkind IN ('r', 'p', 'v', 'f', 'm') AND n.nspname IN ('public') ORDER BY "type" ASC, "schema" ASC, "name" ASC
--- {"labels": ["role", "schema", "table", "select", "delete"]}
WITH table_privileges AS (SELECT NULL AS role, t.schemaname AS schema, t.objectname AS table, pg_catalog.has_any_column_privilege(current_user, '"' || replace(t.schemaname, '"', '""') || '"."' || replace(t.objectname, '"', '""') || '"', 'select') AS select, pg_catalog.has_table_privilege(current_user, '"' || t.schemaname || '"."' || t.objectname || '"', 'delete') AS delete FROM (SELECT schemaname, tablename AS objectname FROM pg_catalog.pg_tables UNION SELECT schemaname, viewname AS objectname FROM pg_catalog.pg_views UNION SELECT schemaname, matviewname AS objectname FROM pg_catalog.pg_matviews) t WHERE t.schemaname !~ '^pg_' AND t.schemaname <> 'information_schema' AND pg_catalog.has_schema_privilege(current_user, t.schemaname, 'usage')) SELECT t.* FROM table_privileges t
--- {"labels": ["name", "database-type", "database-position", "table-schema", "table-name", "pk?", "field-comment", "database-required"]}
SELECT c.column_name AS name, CASE WHEN c.udt_schema IN ('public', 'pg_catalog') THEN FORMAT('%s', c.udt_name) ELSE FORMAT('"%s"."%s"', c.udt_schema, c.udt_name) END AS "database-type", c.ordinal_position - 1 AS "database-position", c.table_schema AS "table-schema", c.table_name AS "table-name", pk.column_name IS NOT NULL AS "pk?", col_description(CAST(CAST(FORMAT('%I.%I', CAST(c.table_schema AS text), CAST(c.table_name AS text)) AS regclass) AS oid), c.ordinal_position) AS "field-comment", (column_default IS NULL OR LOWER(column_default) = 'null') AND is_nullable = 'NO' AND NOT (column_default IS NOT NULL AND column_default LIKE '%nextval(%' OR is_identity <> 'NO') AS "database-required" FROM information_schema.columns AS c LEFT JOIN (SELECT tc.table_schema, tc.table_name, kc.column_name FROM information_schema.table_constraints AS tc INNER JOIN information_schema.key_column_usage AS kc ON tc.constraint_name = kc.constraint_name AND tc.table_schema = kc.table_schema AND tc.table_name = kc.table_name WHERE tc.constraint_type = 'PRIMARY KEY') AS pk ON c.table_schema = pk.table_schema AND c.table_name = pk.table_name AND c.column_name = pk.column_name WHERE c.table_schema !~ '^information_schema|catalog_history|pg_' AND c.table_schema IN ('public') UNION ALL SELECT pa.attname AS name, pt.typname AS "database-type", pa.attnum - 1 AS "database-position", pn.nspname AS "table-schema", pc.relname AS "table-name", FALSE AS "pk?", NULL AS "field-comment", FALSE AS "database-required" FROM pg_catalog.pg_class AS pc INNER JOIN pg_catalog.pg_namespace AS pn ON pn.oid = pc.relnamespace INNER JOIN pg_catalog.pg_attribute AS pa ON pa.attrelid = pc.oid INNER JOIN pg_catalog.pg_type AS pt ON pt.oid = pa.atttypid WHERE pc.relkind = 'm' AND pa.attnum >= 1 ORDER BY "table-schema", "table-name", "database-position"
--- {"labels": ["fk-table-schema", "fk-table-name", "fk-column-name", "pk-table-schema"]}
SELECT fk_ns.nspname AS "fk-table-schema", fk_table.relname AS "fk-table-name", fk_column.attname AS "fk-column-name", pk_ns.nspname AS "pk-table-schema" FROM pg_constraint AS c INNER JOIN pg_class AS fk_table ON c.conrelid = fk_table.oid INNER JOIN pg_namespace AS fk_ns ON c.connamespace = fk_ns.oid INNER JOIN pg_attribute AS fk_column ON c.conrelid = fk_column.attrelid INNER JOIN pg_class AS pk_table ON c.confrelid = pk_table.oid INNER JOIN pg_namespace AS pk_ns ON pk_table.relnamespace = pk_ns.oid WHERE fk_ns.nspname !~ '^information_schema|catalog_history|pg_' AND c.contype = 'f'::char AND fk_column.attnum = ANY(c.conkey) ORDER BY "fk-table-schema", "fk-table-name"
-- Grafana: grafana/grafana, public/app/plugins/datasource/grafana-postgresql-datasource/postgresMetaQuery.ts
--- {"labels": ["version"]}
SELECT current_setting('server_version_num')::int / 100 AS version
--- {"labels": ["extversion"]}
SELECT extversion FROM pg_extension WHERE extname = 'timescaledb'
--- {"labels": ["name"]}
SELECT schema_name AS "name" FROM information_schema.schemata WHERE schema_name NOT IN ('information_schema', 'pg_catalog', 'pg_toast') ORDER BY schema_name
--- {"labels": ["table"]}
SELECT quote_ident(table_name) AS "table" FROM information_schema.tables WHERE quote_ident(table_schema) = 'public' ORDER BY 1
--- {"labels": ["table"]}
SELECT CASE WHEN quote_ident(table_schema) IN (SELECT CASE WHEN trim(s[i]) = '"$user"' THEN user ELSE trim(s[i]) END FROM generate_series(array_lower(string_to_array(current_setting('search_path'), ','), 1), array_upper(string_to_array(current_setting('search_path'), ','), 1)) AS i, string_to_array(current_setting('search_path'), ',') s) THEN quote_ident(table_name) ELSE quote_ident(table_schema) || '.' || quote_ident(table_name) END AS "table" FROM information_schema.tables WHERE quote_ident(table_schema) NOT IN ('information_schema', 'pg_catalog') ORDER BY 1
--- {"labels": ["column", "type"]}
SELECT quote_ident(column_name) AS "column", data_type AS "type" FROM information_schema.columns WHERE CASE WHEN array_length(parse_ident('people'), 1) = 2 THEN quote_ident(table_schema) = (parse_ident('people'))[1] AND quote_ident(table_name) = (parse_ident('people'))[2] ELSE quote_ident(table_name) = 'people' AND quote_ident(table_schema) IN (SELECT CASE WHEN trim(s[i]) = '"$user"' THEN user ELSE trim(s[i]) END FROM generate_series(array_lower(string_to_array(current_setting('search_path'), ','), 1), array_upper(string_to_array(current_setting('search_path'), ','), 1)) AS i, string_to_array(current_setting('search_path'), ',') s) END
-- Tableau: the issues risingwavelabs/risingwave#10459, crate/crate#10216 and cube-js/cube#10721 tell its texts; the rest is the JDBC driver's
--- {"labels": ["lc_collate"]}
SHOW "lc_collate"
--- {"labels": ["age", "income", "zip", "name", "born", "seen", "member"]}
SELECT * FROM "public"."people" LIMIT 0
--- {"labels": ["age", "name"]}
SELECT "people"."age" AS "age", "people"."name" AS "name" FROM "public"."people" "people" LIMIT 0
-- RPostgres: r-dbi/RPostgres, R/tables.R, R/dbListTables…R, R/dbConnect…R
--- {"labels": ["oid", "typname"]}
SELECT oid, typname FROM pg_type
--- {"labels": ["table_schema", "table_name"]}
SELECT table_schema, table_name FROM information_schema.tables WHERE TRUE AND (table_schema = ANY(current_schemas(true))) AND (table_schema <> 'pg_catalog') ORDER BY table_type, table_name
--- {"labels": ["exists"]}
SELECT EXISTS (SELECT table_schema, table_name FROM information_schema.tables WHERE TRUE AND table_schema = ANY(current_schemas(true)) AND table_schema <> 'pg_catalog' AND table_name = 'people')
-- Power BI and Excel by Npgsql: npgsql/npgsql, src/Npgsql/PostgresDatabaseInfo.cs
--- {"labels": ["nspname", "oid", "typname", "typtype", "typnotnull"]}
SELECT ns.nspname, t.oid, t.typname, t.typtype, t.typnotnull FROM pg_type AS t JOIN pg_namespace AS ns ON (ns.oid = t.typnamespace) WHERE t.typtype IN ('b', 'r', 'm', 'e', 'd') ORDER BY t.oid
