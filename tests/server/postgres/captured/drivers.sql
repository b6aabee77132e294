-- psycopg 3.3, asyncpg 0.32, pg8000 1.31: what they send besides what is asked.
-- Each entry: the labels of PostgreSQL 15's answer, the values and their types, and the text.
--- {"labels": null}
BEGIN
--- {"labels": null}
SAVEPOINT "_pg3_1"
--- {"labels": ["name", "oid", "array_oid", "regtype", "delimiter"], "values": ["int8"]}
SELECT
    typname AS name, oid, typarray AS array_oid,
    oid::regtype::text AS regtype, typdelim AS delimiter
FROM pg_type t
WHERE t.oid = to_regtype($1)
ORDER BY t.oid
--- {"labels": null}
RELEASE "_pg3_1"
--- {"labels": null}
COMMIT
--- {"labels": null}
BEGIN;
--- {"labels": null}
COMMIT;
--- {"labels": null}
SELECT pg_advisory_unlock_all();
CLOSE ALL;
UNLISTEN *;
RESET ALL;
--- {"labels": null}
begin transaction
