-- RPostgreSQL 0.7 in R 4.2: dbListTables, dbListFields, dbExistsTable.
-- Each entry: the labels of PostgreSQL 15's answer, the values and their types, and the text.
--- {"labels": null}
set datestyle to ISO
--- {"labels": ["tablename"]}
select tablename from pg_tables where schemaname !='information_schema' and schemaname !='pg_catalog'
--- {"labels": ["attnotnull"]}
select attnotnull from pg_attribute where attrelid=16384 and attnum='2'
--- {"labels": ["current_schema"]}
SELECT current_schema()
--- {"labels": ["attname"]}
select a.attname from pg_attribute a, pg_class c, pg_tables t, pg_namespace nsp where a.attrelid = c.oid and c.relname = tablename and c.relnamespace = nsp.oid and a.attnum > 0 and nspname = current_schema() and schemaname = nspname and tablename = 'people'
--- {"labels": ["tablename"]}
select tablename from pg_tables where schemaname !='information_schema' and schemaname !='pg_catalog' and schemaname='public' and tablename='people'
--- {"labels": ["tablename"]}
select tablename from pg_tables where schemaname !='information_schema' and schemaname !='pg_catalog' and schemaname='public' and tablename='nobody'
