-- Statements that would leak rows or touch files elsewhere, one on each line; all are refused.
SELECT string_agg(name, ',') FROM t
SELECT array_agg(name) FROM t
SELECT list(age) FROM t
SELECT arg_max(name, pay) FROM t
SELECT max_by(name, pay) FROM t
SELECT MAX(name) FROM t
SELECT first(name) FROM t
SELECT any_value(name) FROM t
SELECT approx_top_k(name, 3) FROM t
SELECT bit_xor(age) FROM t
SELECT product(age) FROM t
SELECT COUNT(*) OVER () FROM t
SELECT name FROM t GROUP BY ALL
SELECT COUNT(*) FROM read_csv('t.csv')
SELECT COUNT(*) FROM 't.csv'
SELECT COUNT(*) FROM read_text('/etc/passwd')
SELECT read_text('/etc/passwd'), COUNT(*) FROM t
COPY t TO 'stolen.csv'
COPY (SELECT * FROM t) TO 'stolen.csv'
EXPORT DATABASE 'stolen'
ATTACH 'stolen.db'
CREATE TABLE stolen AS SELECT * FROM t
DROP TABLE t
DELETE FROM t
INSERT INTO t VALUES (1)
UPDATE t SET age = 1
PRAGMA database_list
INSTALL httpfs
CALL pragma_version()
SELECT COUNT(*) INTO stolen FROM t
VACUUM
SELECT * FROM t
SELECT COUNT(*) FROM t, t AS u
SELECT COUNT(*) FROM t JOIN t AS u ON t.id = u.id
SELECT COUNT(*) FROM t UNION SELECT age FROM t
SELECT COUNT(*) FROM t INTERSECT SELECT COUNT(*) FROM t
WITH x AS (SELECT 1) SELECT COUNT(*) FROM t, x
SELECT COUNT(*) FROM t WHERE name IN (SELECT name FROM t)
SELECT COUNT(*) FROM t WHERE EXISTS (SELECT 1 FROM t)
SELECT COUNT(*) FROM t WHERE name = (SELECT name FROM t LIMIT 1)
SELECT DISTINCT ON (age) name FROM t
SELECT COUNT(*) FROM t WHERE regexp_matches(name, '(a)\1')
SELECT regexp_replace(name, '.', 'x') FROM t
SELECT COUNT(*) FROM t FOR UPDATE
SELECT error(name), COUNT(*) FROM t
SELECT COUNT(*) FROM t WHERE sleep(age) = 0
SELECT getenv('HOME'), COUNT(*) FROM t
SELECT COUNT(*) FROM information_schema.tables
SELECT COUNT(*) FROM t WHERE random() < 0.5
SELECT COUNT(*) FROM t; SELECT COUNT(*) FROM t
SELECT id FROM t HAVING COUNT(*) > 0
SELECT SUM(SUM(age)) FROM t
EXPLAIN ANALYZE SELECT 1
SELECT t FROM t
SELECT t.* FROM t
SELECT COUNT(t.*) FROM t
SELECT COLUMNS(*) FROM t
SELECT COUNT(*),, FROM t
SELECT SUM(age) WITHIN GROUP () FROM t
SELECT VAR_MAP(age) FROM t
SELECT TS_OR_DS_TO_DATE_STR() FROM t
SELECT COUNT(*) FROM t PIVOT (SUM(age) FOR city IN ('a'))
SELECT ANY(age) FILTER (WHERE id = 1) FROM t
