--- Names without quotes
-- SyntaxFault 1:24 put the name in quotes: "us-employment"
SELECT COUNT(*) FROM us-employment;
-- SyntaxFault put the name in quotes: "2023-sales"
SELECT COUNT(*) FROM people JOIN 2023-sales ON TRUE;
--- Single rows
-- Unsupported 1:8 SELECT * is not supported
SELECT * FROM people;
-- Unsupported
SELECT *, COUNT(*) FROM people;
-- Unsupported
SELECT people.* FROM people;
-- Unsupported 1:8 must be inside an aggregate
SELECT name FROM people;
-- Unsupported
SELECT name, COUNT(*) FROM people GROUP BY zip;
-- Unsupported 1:19
SELECT COUNT(*) + age FROM people;
-- Unsupported an aggregate such as COUNT(*)
SELECT 1 FROM people;
-- Unsupported 1:17 SELECT * is not supported
SELECT DISTINCT * FROM people;
-- Unsupported must be inside an aggregate
SELECT DISTINCT zip, COUNT(*) FROM people;
-- Unsupported DISTINCT would make one row of several groups
SELECT DISTINCT COUNT(*) FROM people GROUP BY zip;
-- Unsupported it has decimals
SELECT income, COUNT(*) FROM people GROUP BY income;
-- Unsupported distinct
SELECT DISTINCT ON (zip) zip FROM people;
-- Unsupported
SELECT COUNT(*) FROM people ORDER BY name;
-- Unsupported
SELECT COUNT(*) FROM people HAVING age > 30;
-- Unsupported 1:12
SELECT SUM(*) FROM people;
--- Raw aggregates and others that give a value of one row
-- Unsupported STRING_AGG is not supported
SELECT STRING_AGG(name, ',') FROM people;
-- Unsupported SELECT name, COUNT(*) AS n … GROUP BY name
SELECT GROUP_CONCAT(name) FROM people;
-- UnknownName
SELECT LISTAGG(name) FROM people;
-- Unsupported
SELECT ARRAY_AGG(name) FROM people;
-- Unsupported
SELECT ARRAY_AGG(name ORDER BY age) FROM people;
-- Unsupported a value of one row is never shown
SELECT ARG_MAX(name, age) FROM people;
-- Unsupported
SELECT MAX_BY(name, age) FROM people;
-- Unsupported
SELECT ANY_VALUE(name) FROM people;
-- Unsupported a value of one row is never shown
SELECT FIRST(name) FROM people;
-- Unsupported
SELECT FIRST_VALUE(name) FROM people;
-- Unsupported
SELECT LAST(age) FROM people;
-- Unsupported SELECT zip, COUNT(*) AS n … GROUP BY zip
SELECT HISTOGRAM(zip), COUNT(*) FROM people;
-- UnknownName did you mean QUANTILE_DISC?
SELECT QUANTILE_DISK(age, 0.5) FROM people;
-- Unsupported PERCENTILE_DISC(q) or MODE()
SELECT PERCENTILE_DISC(age, 0.5) WITHIN GROUP (ORDER BY age) FROM people;
-- Unsupported 1:8 COUNT_IF(NOT b) counts the rows that would
SELECT BOOL_AND(age > 30) FROM people;
-- Unsupported 1:13 BOOL_OR is not supported: one row can decide it
SELECT zip, BOOL_OR(age > 30) FROM people GROUP BY zip;
-- Unsupported 1:13 EVERY is not supported: one row can decide it
SELECT zip, EVERY(age > 30) FROM people GROUP BY zip;
-- Unsupported COUNT_IF(b) counts the rows that would
SELECT LOGICAL_OR(age > 30) FROM people;
-- TypeMismatch a number is needed
SELECT SUM(DISTINCT name) FROM people;
-- Unsupported one argument
SELECT SUM(DISTINCT age, zip) FROM people;
-- Unsupported
SELECT COUNT(age, zip) FROM people;
-- Unsupported
SELECT COUNT(* EXCEPT (age)) FROM people;
-- Unsupported
SELECT COUNT(people.*) FROM people;
-- TypeMismatch 1:35 || joins texts
SELECT COUNT(*) FROM people WHERE age || zip = '1';
-- TypeMismatch 1:35 || joins texts, whole numbers, dates, timestamps and booleans
SELECT COUNT(*) FROM people WHERE name || income = '1';
-- TypeMismatch 1:8 needs an argument
SELECT COUNT() FROM people;
-- Unsupported
SELECT MIN(age, 30) FROM people;
-- Unsupported
SELECT SUM(age ORDER BY age) FROM people;
-- Unsupported
SELECT SUM(age) WITHIN GROUP (ORDER BY age) FROM people;
-- Unsupported 1:12 an aggregate cannot be used here
SELECT SUM(COUNT(*)) FROM people;
-- Unsupported 1:35 an aggregate cannot be used here
SELECT COUNT(*) FROM people WHERE COUNT(*) > 5;
-- Unsupported
SELECT SUM(age) FILTER (WHERE SUM(age) > 30) FROM people;
-- Unsupported
SELECT ABS(age) FILTER (WHERE age > 3) FROM people;
--- Windows
-- Unsupported needs an aggregate
SELECT COUNT(*) OVER () FROM people;
-- Unsupported
SELECT SUM(age) OVER (PARTITION BY zip ORDER BY age) FROM people;
-- Unsupported
SELECT ROW_NUMBER() OVER () FROM people;
--- More than one table, or none
-- Unsupported 1:30 each row of visits is a unit of its own
SELECT COUNT(*) FROM people, visits;
-- Unsupported
SELECT COUNT(*) FROM people JOIN visits ON TRUE;
-- Unsupported USING (column)
SELECT COUNT(*) FROM people NATURAL JOIN visits;
-- Unsupported
SELECT COUNT(*) FROM people LEFT JOIN people AS p USING (name);
-- Unsupported
SELECT COUNT(*) FROM people CROSS JOIN people;
-- Unsupported 1:22 only a table's name
SELECT COUNT(*) FROM generate_series(1, 10);
-- Unsupported 1:8 FROM a table
SELECT COUNT(*);
-- UnknownName
SELECT COUNT(*) FROM other.people;
-- Unsupported
SELECT COUNT(*) FROM people WHERE main.people.age > 30;
-- Unsupported 1:29 name the rows: GROUP BY age
SELECT COUNT(*) FROM people PIVOT (COUNT(*) FOR zip IN (1));
-- SyntaxFault 1:29 PIVOT takes aggregates, FOR and IN
SELECT COUNT(*) FROM people PIVOT (COUNT(*) FOR zip);
-- Unsupported 1:50 are not known before it is read
WITH w AS (SELECT * FROM people) SELECT * FROM w PIVOT (COUNT(*) FOR zip IN (1));
-- Unsupported UNION ALL (SELECT 'z', z
UNPIVOT people ON age, income INTO NAME k VALUE v;
-- Unsupported 1:1 PIVOT t ON y
PIVOT people ON zip;
-- Unsupported
SELECT COUNT(*) FROM people LATERAL VIEW explode(x) t AS y;
-- Unsupported
SELECT COUNT(*) FROM people EXCEPT SELECT COUNT(*) FROM people;
-- Unsupported
SELECT COUNT(*) FROM people; SELECT COUNT(*) FROM people;
--- SELECTs within FROM and WITH
-- Unsupported 1:8 SELECT * is not supported
SELECT * FROM (SELECT age FROM people) AS t;
-- Unsupported 1:43 SELECT * is not supported
WITH t AS (SELECT age FROM people) SELECT * FROM t;
-- Unsupported 1:8 must be inside an aggregate
SELECT a FROM (SELECT age AS a FROM people) AS t;
-- Unsupported 1:39 DISTINCT would make one row of several
SELECT COUNT(*) FROM (SELECT DISTINCT age FROM people) AS t;
-- Unsupported 2:18 LIMIT would choose among the rows of all
SELECT COUNT(*) FROM (SELECT age FROM people
ORDER BY 1 LIMIT 5) AS t;
-- Unsupported LIMIT would choose among the rows of all
SELECT COUNT(*) FROM (SELECT age FROM people OFFSET 5) AS t;
-- Unsupported LIMIT would choose among the rows of all
SELECT COUNT(*) FROM (SELECT TOP 5 age FROM people) AS t;
-- Unsupported must be inside an aggregate
SELECT COUNT(*) FROM (SELECT age FROM people HAVING TRUE) AS t;
-- Unsupported 1:62 an aggregate cannot be used here
SELECT COUNT(*) FROM (SELECT age FROM people WHERE age > 2 * MAX(income)) AS t;
-- Unsupported a window would look at other rows
SELECT SUM(r) FROM (SELECT age, ROW_NUMBER() OVER (ORDER BY age) AS r FROM people) AS t;
-- Unsupported a window would look at other rows
SELECT COUNT(*) FROM (SELECT age FROM people QUALIFY ROW_NUMBER() OVER (ORDER BY age) = 1) AS t;
-- Unsupported each SELECT of a UNION needs an aggregate
SELECT age FROM people UNION ALL SELECT age FROM people;
-- Unsupported can be in FROM
SELECT COUNT(*) FROM LATERAL (SELECT age FROM people) AS t;
-- Unsupported sample
SELECT COUNT(*) FROM (SELECT age FROM people) AS t TABLESAMPLE (10 PERCENT);
-- Unsupported except
SELECT COUNT(*) FROM (SELECT * EXCEPT (age) FROM people) AS t;
-- Unsupported 1:16 WITH RECURSIVE
WITH RECURSIVE t AS (SELECT age FROM people) SELECT COUNT(*) FROM t;
-- Unsupported 1:37 two tables T
WITH t AS (SELECT age FROM people), T AS (SELECT zip FROM people) SELECT COUNT(*) FROM t;
-- Unsupported 1:55 3 names for 2 columns
SELECT COUNT(*) FROM (SELECT age, zip FROM people) AS t(a, b, c);
-- Unsupported WITH is followed by SELECT
WITH t AS (SELECT age FROM people);
-- Unsupported EXPLAIN is followed by SELECT
EXPLAIN WITH t AS (SELECT age FROM people) TABLE t;
-- SyntaxFault 1:23 missing between SELECT and FROM
SELECT COUNT(*) FROM (SELECT age,, zip FROM people) AS t;
-- SyntaxFault 1:12 missing between SELECT and FROM
WITH t AS (SELECT age,, zip FROM people) SELECT COUNT(*) FROM t;
-- UnknownName 2:12 did you mean age?
SELECT AVG(a) FROM (
    SELECT agge AS a FROM people) AS t;
-- UnknownName 1:24 did you mean age?
WITH unused AS (SELECT agge FROM people) SELECT COUNT(*) FROM people;
-- UnknownName 1:12 did you mean years?
SELECT AVG(year) FROM (SELECT age AS years FROM people) AS t;
-- UnknownName 1:12 no column age
SELECT AVG(age) FROM (SELECT age FROM people) AS t(years);
-- UnknownName 1:58 no table people here
SELECT COUNT(*) FROM (SELECT age FROM people) AS t WHERE people.age > 40;
-- UnknownName no table t here
SELECT COUNT(*) FROM (SELECT t.age FROM people) AS t;
-- UnknownName no table u here
SELECT COUNT(*) FROM (SELECT u.* FROM people) AS t;
-- UnknownName 1:39 no table later
WITH t AS (SELECT COUNT_IF(TRUE) FROM later), later AS (SELECT age FROM people) SELECT COUNT(*) FROM t;
-- UnknownName no table t
WITH t AS (SELECT age FROM t) SELECT COUNT(*) FROM t;
-- UnknownName 1:83 no table inside
SELECT (WITH inside AS (SELECT age FROM people) SELECT AVG(age) FROM inside) FROM inside;
-- UnknownName no table t
WITH t AS (SELECT age FROM people) SELECT COUNT(*) FROM main.t;
-- UnknownName 1:12 one of several columns
SELECT AVG(x) FROM (SELECT age AS x, income AS x FROM people) AS t;
-- TypeMismatch 1:8 a number is needed here
SELECT SUM(low) FROM (SELECT LOWER(name) AS low FROM people) AS t;
-- MissingBounds
SELECT SUM(x) FROM (SELECT loose AS x FROM visits) AS t;
--- Subqueries that are more than one private value
-- Unsupported 1:17 only a SELECT can be a subquery
SELECT ((SELECT COUNT(*) FROM people)) AS n, (SELECT AVG(age) FROM people);
-- Unsupported only a SELECT can be a subquery
SELECT zip, COUNT(*) FROM people GROUP BY zip HAVING ((SELECT MAX(age) FROM people)) > 60;
-- Unsupported 1:35 whether another unit has such a row is private
SELECT COUNT(*) FROM people WHERE age IN (SELECT age FROM people);
-- Unsupported this SELECT reads FROM none
SELECT COUNT(*) FROM people WHERE age IN (SELECT (SELECT MAX(age) FROM people));
-- Unsupported has such a row is private
SELECT COUNT(*) FROM people WHERE age IN (SELECT (SELECT MAX(age) FROM people) FROM people);
-- Unsupported 1:50 always
SELECT COUNT(*) FROM people WHERE EXISTS (SELECT COUNT(*) FROM people);
-- Unsupported
SELECT COUNT(*) FROM people WHERE age > ANY (SELECT age FROM people);
-- Unsupported
SELECT COUNT(*) FROM people WHERE age > ALL (SELECT MAX(age) FROM people);
-- Unsupported
SELECT COUNT(*) FROM people WHERE age > (SELECT age FROM people);
-- Unsupported
SELECT COUNT(*) FROM people WHERE age > (SELECT age FROM people LIMIT 1);
-- Unsupported one value
SELECT COUNT(*) FROM people WHERE age > (SELECT MIN(age), MAX(age) FROM people);
-- Unsupported one value
SELECT COUNT(*) FROM people WHERE age > (SELECT (SELECT MAX(age) FROM people), COUNT(*) FROM people);
-- Unsupported one value
SELECT COUNT(*) FROM people WHERE age > (SELECT AVG(age) FROM people GROUP BY zip);
-- Unsupported one value
SELECT COUNT(*) FROM people WHERE age > (SELECT AVG(age) FROM people HAVING COUNT(*) > 3);
-- Unsupported aggregates the rows of every unit
SELECT COUNT(*) FROM people o WHERE age > (SELECT AVG(age) FROM people p WHERE p.zip = o.zip);
-- Unsupported aggregates the rows of every unit
SELECT COUNT(*) FROM people WHERE age > (SELECT AVG(age) FROM people p WHERE p.zip = people.zip);
-- UnknownName no table people here
SELECT COUNT(*) FROM people WHERE age > (WITH t AS (SELECT age AS a FROM people) SELECT AVG(a) FROM t WHERE t.a = people.age);
-- Unsupported
SELECT COUNT(*) FROM people WHERE age > (FROM people);
-- Unsupported
SELECT COUNT(*) FROM people WHERE age > (SELECT MAX(age) FROM people UNION SELECT 1 FROM people);
-- TypeMismatch
SELECT COUNT(*) FROM people WHERE (SELECT MAX(age) FROM people);
--- Regular expressions
-- Unsupported regular expression is not supported: \1 is not supported
SELECT COUNT(*) FROM people WHERE REGEXP_CONTAINS(name, '(a)\1');
-- TypeMismatch does not take these arguments
SELECT COUNT(*) FROM people WHERE REGEXP_CONTAINS(name, name);
-- TypeMismatch a text is needed
SELECT COUNT(*) FROM people WHERE REGEXP_CONTAINS(age, 'a');
-- TypeMismatch REGEXP_LIKE(s, 'pattern')
SELECT COUNT(*) FROM people WHERE REGEXP_LIKE(name, 'a', 'i');
--- GROUP BY
-- Unsupported it has decimals
SELECT COUNT(*) FROM people GROUP BY income * 2;
-- Unsupported age must be inside an aggregate or in GROUP BY
SELECT age, COUNT(*) FROM people GROUP BY FLOOR(age / 10);
-- Unsupported age must be inside an aggregate or in GROUP BY
SELECT FLOOR(age / 5), COUNT(*) FROM people GROUP BY FLOOR(age / 10);
-- Unsupported
SELECT COUNT(*) FROM people GROUP BY 'zip';
-- Unsupported
SELECT COUNT(*) FROM people GROUP BY 1;
-- Unsupported 1:8 must be inside an aggregate or in GROUP BY
SELECT age AS zip, COUNT(*) FROM people GROUP BY zip;
-- UnknownName no column 3
SELECT zip, COUNT(*) FROM people GROUP BY 3;
-- UnknownName no column 0
SELECT COUNT(*) FROM people GROUP BY 0;
-- TooLarge groups
SELECT COUNT(*) FROM visits GROUP BY plan, member, grade, points, floor, ratio, seen;
--- ORDER BY and LIMIT
-- SyntaxFault
SELECT COUNT(*) FROM people ORDER BY;
-- UnknownName no column 2
SELECT COUNT(*) FROM people ORDER BY 2;
-- SyntaxFault
SELECT COUNT(*) FROM people LIMIT;
-- TypeMismatch a whole number
SELECT COUNT(*) FROM people LIMIT -1;
-- TypeMismatch a whole number
SELECT COUNT(*) FROM people LIMIT NULL;
-- TypeMismatch a whole number
SELECT COUNT(*) FROM people LIMIT 1 + 1;
-- TypeMismatch a whole number
SELECT COUNT(*) FROM people LIMIT 1.5;
-- TypeMismatch a whole number
SELECT COUNT(*) FROM people LIMIT '1';
-- TypeMismatch a whole number
SELECT COUNT(*) FROM people LIMIT TRUE;
-- Unsupported
SELECT COUNT(*) FROM people LIMIT (SELECT COUNT(*) FROM people);
-- Unsupported
SELECT COUNT(*) FROM people LIMIT 5 PERCENT;
-- TypeMismatch a whole number
SELECT COUNT(*) FROM people LIMIT 1 OFFSET -1;
-- Unsupported percent
SELECT COUNT(*) FROM people FETCH FIRST 3 PERCENT ROWS ONLY;
-- Unsupported with ties
SELECT zip, COUNT(*) FROM people GROUP BY zip ORDER BY 2 FETCH FIRST 3 ROWS WITH TIES;
-- TypeMismatch a whole number
SELECT COUNT(*) FROM people FETCH FIRST 1.5 ROWS ONLY;
-- TypeMismatch 1:35 the statement takes 1 value, 0 are given
SELECT COUNT(*) FROM people LIMIT ?;
--- Clauses of other systems
-- Unsupported leave it out
SELECT COUNT(*) FROM people TABLESAMPLE (10 PERCENT);
-- Unsupported leave it out
SELECT COUNT(*) FROM people USING SAMPLE 10;
-- Unsupported into
SELECT COUNT(*) INTO leak FROM people;
-- Unsupported
SELECT COUNT(*) FROM people WITH (NOLOCK);
-- Unsupported locks
SELECT COUNT(*) FROM people FOR UPDATE;
-- Unsupported
SELECT COUNT(*) FROM people START WITH 1 = 1 CONNECT BY 1 = 1;
-- Unsupported
SELECT COUNT(*) FROM people CLUSTER BY age;
-- Unsupported
SELECT AS STRUCT COUNT(*) FROM people;
-- SyntaxFault
SELECT COUNT(*) FROM people SETTINGS x = 1;
-- SyntaxFault
SELECT COUNT(*) FROM people PREWHERE age > 3;
--- Files, definitions, changes
-- Unsupported SHOW TABLES lists them
SELECT COUNT(*) FROM read_csv('people.csv');
-- UnknownName no table people.csv
SELECT COUNT(*) FROM 'people.csv';
-- UnknownName no table /etc/passwd
SELECT COUNT(*) FROM "/etc/passwd";
-- Unsupported .once FILE
COPY people TO 'leak.csv';
-- Unsupported dpdb FILE FILE
ATTACH 'leak.db' AS leak;
-- Unsupported DESCRIBE table shows its columns
PRAGMA database_list;
-- Unsupported
INSTALL httpfs;
-- Unsupported
LOAD httpfs;
-- Unsupported only read
INSERT INTO people VALUES (1);
-- Unsupported only read
DELETE FROM people;
-- Unsupported only read
UPDATE people SET age = 3;
-- Unsupported WITH v AS (SELECT …)
CREATE TABLE leak AS SELECT * FROM people;
-- Unsupported only read
DROP TABLE people;
-- Unsupported only read
ALTER TABLE people ADD COLUMN x INTEGER;
-- Unsupported only read
TRUNCATE people;
-- Unsupported
GRANT ALL ON people TO eve;
-- Unsupported only read
BEGIN TRANSACTION;
-- Unsupported
CALL leak();
-- Unsupported without FROM
VALUES (1);
-- Unsupported single rows are never shown
TABLE people;
-- Unsupported EXPLAIN SELECT … says what an answer would cost
DESCRIBE SELECT COUNT(*) FROM people;
-- Unsupported SHOW TABLES lists the tables
DESCRIBE;
-- Unsupported EXPLAIN SELECT … says what an answer would cost
EXPLAIN ANALYZE SELECT COUNT(*) FROM people;
-- Unsupported SELECT * is not supported
FROM people;
-- SyntaxFault
FROM people WHERE age > 30 SELECT COUNT(*);
-- Unsupported
(SELECT COUNT(*) FROM people);
-- Unsupported
.tables;
--- Operators and literals outside the subset
-- Unsupported
SELECT COUNT(*) FROM people WHERE age & 1 = 1;
-- Unsupported
SELECT COUNT(*) FROM people WHERE age ^ 2 > 3;
-- SyntaxFault 1:40 REGEXP_LIKE(s, 'pattern')
SELECT COUNT(*) FROM people WHERE name ~ 'a';
-- Unsupported 1:35 REGEXP_LIKE(s, 'pattern')
SELECT COUNT(*) FROM people WHERE name SIMILAR TO 'a';
-- Unsupported 1:36 x = 1 AND y = 2 compares two columns
SELECT COUNT(*) FROM people WHERE (age, zip) = (30, 31643);
-- Unsupported x = 1 AND y = 2 compares two columns
SELECT COUNT(*) FROM people WHERE (age, zip) IN ((30, 31643));
-- Unsupported COUNT(DISTINCT (x, y)) counts the different pairs
SELECT COUNT(DISTINCT age, zip) FROM people;
-- Unsupported COUNT(DISTINCT (x, y)) counts pairs
SELECT COUNT(*) FROM people GROUP BY (age, zip) HAVING (age, zip) = 3;
-- Unsupported WHERE asks for one group
SELECT zip, MAD(age) FROM people GROUP BY zip;
-- TypeMismatch MAD takes one argument
SELECT MAD(age, zip) FROM people;
-- TypeMismatch GEOMEAN takes one argument
SELECT GEOMEAN(age, zip) FROM people;
-- Unsupported the policy lists no values of name
SELECT ENTROPY(name) FROM people;
-- TooLarge 100 are allowed
SELECT ENTROPY(points * grade) FROM visits;
-- Unsupported LIKE 'a%'
SELECT COUNT(*) FROM people WHERE name GLOB 'A*';
-- SyntaxFault 1:40 NOT REGEXP_LIKE(s, 'pattern')
SELECT COUNT(*) FROM people WHERE name !~ 'a';
-- TypeMismatch FLOOR(x / z)
SELECT income // 10, COUNT(*) FROM people GROUP BY 1;
-- Unsupported x IN (1, 2)
SELECT COUNT(*) FROM people WHERE zip = ANY(ARRAY[(SELECT MAX(zip) FROM people)]);
-- Unsupported 1:12 name each column
SELECT AVG(COLUMNS(*)) FROM people;
-- SyntaxFault 1:22 did you mean FROM?
SELECT COUNT(*) FORM people;
-- SyntaxFault 1:40 did you mean GROUP?
SELECT zip, COUNT(*) FROM people GRUOP BY zip;
-- SyntaxFault 1:47 did you mean LIMIT?
SELECT zip, COUNT(*) FROM people GROUP BY zip LIMT 3;
-- SyntaxFault 2:1 a statement ends with ;
SELECT COUNT(*) FROM people WHERE age > 30
SELECT COUNT(*) FROM people;
-- Unsupported
SELECT COUNT(*) FROM people WHERE age IN 30;
-- Unsupported
SELECT COUNT(*) FROM people WHERE name LIKE name;
-- Unsupported
SELECT COUNT(*) FROM people WHERE name NOT LIKE ANY ('a', 'b');
-- Unsupported
SELECT COUNT(*) FROM people WHERE name LIKE ANY (name, 'b');
-- Unsupported
SELECT COUNT(*) FROM people WHERE name LIKE ANY (SELECT name FROM people);
-- SyntaxFault an expression is missing
FROM people SELECT zip,, COUNT(*) GROUP BY zip;
-- Unsupported JOIN t USING (k)
SELECT COUNT(*) FROM people AS p CROSS JOIN people AS q USING (zip);
-- InvalidOption epsilon = 2 in the OPTIONS of one
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1) MAX(n) FROM (SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1) COUNT(*) AS n FROM people) AS t;
-- InvalidOption 1:21 OPTIONS are for a SELECT whose answer gets noise
SELECT AVG(a) FROM (SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1) age AS a FROM people) AS t;
-- SyntaxFault 1:1 PIVOT t ON y USING SUM(x) GROUP BY z
PIVOT ON zip USING SUM(age);
-- Unsupported 1:1 name the rows: GROUP BY age
PIVOT people ON zip USING SUM(income);
-- Unsupported IN ('a', 'b')
PIVOT people ON zip, age USING SUM(age) GROUP BY age;
-- Unsupported the policy lists no values of name
PIVOT people ON name USING SUM(age) GROUP BY zip;
-- TooLarge 101 values
PIVOT visits ON points USING COUNT(*) GROUP BY plan;
-- Unsupported 1:11 SHOW TABLES lists the tables
SUMMARIZE nobody;
-- Unsupported 1:19 give it another name
CREATE TEMP TABLE people AS SELECT COUNT(*) FROM people;
-- Unsupported single rows are never shown
CREATE TEMP TABLE leak AS SELECT * FROM people;
-- Unsupported 1:1 did you mean SELECT?
SELCT COUNT(*) FROM people;
-- Unsupported ESCAPE
SELECT COUNT(*) FROM people WHERE name LIKE 'a' ESCAPE 'xy';
-- Unsupported a date has no hour
SELECT COUNT(*) FROM visits WHERE HOUR(born) = 12;
-- Unsupported a date has no era
SELECT COUNT(*) FROM visits WHERE EXTRACT(ERA FROM born) = 2000;
-- Unsupported CURRENT_DATE is the day in UTC
SELECT COUNT(*) FROM visits WHERE arrived < CURRENT_TIMESTAMP;
-- Unsupported write CURRENT_DATE
SELECT COUNT(*) FROM visits WHERE born < CURRENT_DATE('America/New_York');
-- Unsupported
SELECT COUNT(*) FROM people WHERE RANDOM() > 0.5;
-- Unsupported
SELECT COUNT(*) FROM people WHERE name -> 'x' = 'a';
-- Unsupported
SELECT COUNT(*) FROM people WHERE name ->> '$.x' = 'a';
-- Unsupported
SELECT COUNT(*) FROM people WHERE name[1] = 'a';
-- Unsupported
SELECT COUNT(*) FROM people WHERE age = ARRAY[1, 2];
-- UnknownName
SELECT COUNT(*) FROM people WHERE LIST_FILTER([1], x -> x > 0) = 3;
-- UnknownName
SELECT COUNT(*) FROM people WHERE STRUCT_PACK(a := 1) = 3;
-- Unsupported
SELECT COUNT(*) FROM people WHERE @x = 3;
-- UnknownName
SELECT COUNT(*) FROM people WHERE $$a$$ = 'x';
-- SyntaxFault
SELECT COUNT(*) FROM people WHERE 0x1F = age;
-- SyntaxFault 1:42
SELECT COUNT(*) FROM people WHERE age = 1_000;
-- TypeMismatch cannot be read
SELECT COUNT(*) FROM people WHERE age = 1e;
-- TooLarge number is too large
SELECT COUNT(*) FROM people WHERE age = 1e301;
-- UnknownName no column infinity
SELECT COUNT(*) FROM people WHERE age < infinity;
-- UnknownName no column ٣
SELECT COUNT(*) FROM people WHERE age = ٣;
-- SyntaxFault
SELECT COUNT(*) FROM {{ people }};
-- SyntaxFault
SELECT COUNT(*) FROM people WHERE {% if x %} age > 30;
-- UnknownName
SELECT COUNT(*) FROM people WHERE name = `Abel Woods`;
--- Text that is not SQL
-- Unsupported
SЕLECT COUNT(*) FROM people;
-- SyntaxFault
SELECT COUNT(*) FRОM people;
-- Unsupported
ＳＥＬＥＣＴ COUNT(*) FROM people;
-- SyntaxFault
SELECT;
-- SyntaxFault
SELECT FROM people;
-- SyntaxFault
SELECT COUNT(*),, AVG(age) FROM people;
-- SyntaxFault 1:17
SELECT COUNT(*) FROM;
-- SyntaxFault 1:29
SELECT COUNT(*) FROM people WHERE;
-- SyntaxFault
SELECT COUNT(* FROM people;
-- SyntaxFault 1:16
SELECT COUNT(*)) FROM people;
-- SyntaxFault 1:36
SELECT COUNT(*) FROM people people people;
-- SyntaxFault
SELECT COUNT(*) AS select FROM people;
-- SyntaxFault
SELECT COUNT(*) FROM people WHERE name = 'open;
-- SyntaxFault
SELECT COUNT(*) FROM people WHERE name = "open;
-- SyntaxFault
SELECT COUNT(*) FROM people /* open;
-- SyntaxFault
SELECT COUNT(*) FROM people WHERE name = 'it\'s';
--- Names
-- UnknownName DATE '2020-12-31' is a day
SELECT COUNT(*) FROM people WHERE TO_DATE(name, 'DD.MM.YYYY') IS NULL;
-- UnknownName WIDTH_BUCKET(x, 0, 100, 4)
SELECT CUT(age, 5), COUNT(*) FROM people GROUP BY 1;
-- UnknownName COUNT(*) counts rows
SELECT COUNT_STAR() FROM people;
-- UnknownName SUM(x * z) / SUM(z)
SELECT WEIGHTED_AVG(income, age) FROM people;
-- Unsupported SELECT MAX(n) FROM (SELECT y, COUNT(*) AS n FROM t GROUP BY y)
SELECT MAX(COUNT(*)) FROM people GROUP BY zip;
-- Unsupported WIDTH_BUCKET(x, 0, 100, 4)
SELECT NTILE(4) OVER (ORDER BY income) AS q, COUNT(*) FROM people GROUP BY q;
-- UnknownName 1:22 did you mean people?
SELECT COUNT(*) FROM peeple;
-- UnknownName 3:7 did you mean income?
SELECT COUNT(*)
FROM people
WHERE incme > 30;
-- UnknownName 1:12 did you mean age?
SELECT AVG(agee) FROM people;
-- UnknownName 1:8 did you mean SUM?
SELECT SUMM(age) FROM people;
-- UnknownName 1:35 did you mean ABS?
SELECT COUNT(*) FROM people WHERE ABSS(age) > 3;
-- UnknownName tables are people, visits
SELECT COUNT(*) FROM q;
-- UnknownName no table table
SELECT COUNT(*) FROM table;
-- UnknownName no table visits here
SELECT COUNT(*) FROM people WHERE visits.score > 3;
-- UnknownName 1:10 did you mean people?
DESCRIBE peple;
-- UnknownName
DESCRIBE table;
-- UnknownName
SHOW COLUMNS;
-- UnknownName
SHOW;
-- Unsupported
EXPLAIN;
-- Unsupported
EXPLAIN SHOW BUDGET;
-- Unsupported 1:16
EXPLAIN SELECT name FROM people;
--- Types
-- TypeMismatch 1:8 a number is needed here
SELECT SUM(name) FROM people;
-- TypeMismatch
SELECT MEDIAN(name) FROM people;
-- TypeMismatch
SELECT MAX(name) FROM people;
-- TypeMismatch
SELECT SUM(born) FROM visits;
-- TypeMismatch
SELECT STDDEV(born) FROM visits;
-- TypeMismatch 1:27 between 0 and 1
SELECT QUANTILE_CONT(age, 1.5) FROM people;
-- TypeMismatch between 0 and 1
SELECT QUANTILE_CONT(age, -0.1) FROM people;
-- TypeMismatch
SELECT QUANTILE_CONT(age, zip) FROM people;
-- TypeMismatch
SELECT QUANTILE_CONT(age, NULL) FROM people;
-- TypeMismatch
SELECT QUANTILE_CONT(age, TRUE) FROM people;
-- TypeMismatch
SELECT QUANTILE_CONT(age) FROM people;
-- TypeMismatch
SELECT PERCENTILE_CONT(0.5) FROM people;
-- Unsupported
SELECT MODE(age + 1) FROM people;
-- Unsupported the policy lists no values
SELECT MODE(name) FROM people;
-- TypeMismatch
SELECT MODE() FROM people;
-- TypeMismatch 1:19 a number is needed here, not text
SELECT MODE(plan, note) FROM visits;
-- TypeMismatch a number is needed here, not boolean
SELECT MODE(plan, TRUE) FROM visits;
-- TypeMismatch a number is needed here, not date
SELECT MODE(plan, born) FROM visits;
-- MissingBounds CLAMP(loose, low, high)
SELECT MODE(plan, loose) FROM visits;
-- MissingBounds
SELECT MODE(plan, points / score) FROM visits;
-- SyntaxFault
SELECT MODE(plan, points, score) FROM visits;
-- Unsupported the policy lists no values
SELECT MODE(note, points) FROM visits;
-- Unsupported MODE takes a column
SELECT MODE(grade + 1, points) FROM visits;
-- Unsupported WITHIN GROUP goes with
SELECT MODE(points) WITHIN GROUP (ORDER BY plan) FROM visits;
-- Unsupported MODE takes no named arguments
SELECT MODE(plan, points, contribution_bounds_per_group => (0, 1)) FROM visits;
-- TypeMismatch 1:35 a boolean is needed here
SELECT COUNT(*) FROM people WHERE age;
-- TypeMismatch
SELECT COUNT(*) FROM people WHERE "Abel Woods";
-- TypeMismatch texts stand in quotes; numbers, TRUE and FALSE do not
SELECT COUNT(*) FROM people WHERE age = '30';
-- TypeMismatch
SELECT COUNT(*) FROM people WHERE age IN (30, TRUE);
-- TypeMismatch
SELECT COUNT(*) FROM people WHERE age LIKE '3%';
-- TypeMismatch
SELECT COUNT(*) FROM people WHERE name + 1 > 3;
-- TypeMismatch
SELECT COUNT(*) FROM people WHERE 20 < age < 30;
-- TypeMismatch
SELECT COUNT(*) FROM people WHERE CASE WHEN age > 3 THEN 1 ELSE 'x' END = 1;
-- TypeMismatch
SELECT COUNT(*) FROM people WHERE CASE WHEN age THEN 1 END = 1;
-- TypeMismatch
SELECT COUNT(*) FROM people WHERE COALESCE(age, name) = 1;
-- TypeMismatch is not a date
SELECT COUNT(*) FROM visits WHERE born < 'yesterday';
-- TypeMismatch is not a date
SELECT COUNT(*) FROM visits WHERE born < DATE '2001-02-29';
-- TypeMismatch
SELECT COUNT(*) FROM visits WHERE born = note;
-- TypeMismatch
SELECT COUNT(*) FROM visits WHERE born + 0.5 < '2000-01-01';
-- TypeMismatch
SELECT COUNT(*) FROM visits WHERE born + seen < '2000-01-01';
-- TypeMismatch
SELECT COUNT(*) FROM people WHERE LOWER(age) = 'x';
-- TypeMismatch
SELECT COUNT(*) FROM people WHERE ROUND(income, 99) = 3;
-- TypeMismatch
SELECT COUNT(*) FROM people WHERE ROUND(income, TRUE) = 3;
-- TypeMismatch
SELECT COUNT(*) FROM people WHERE SUBSTR(name, age) = 'x';
-- TypeMismatch
SELECT COUNT(*) FROM people WHERE SUBSTR(name, TRUE) = 'x';
-- TypeMismatch
SELECT COUNT(*) FROM people WHERE CLAMP(age, 1) = 3;
-- TypeMismatch LEFT does not take
SELECT COUNT(*) FROM people WHERE LEFT(name, age) = 'x';
-- Unsupported 1:35 %Q is no directive directives are %Y, %y, %m, %d
SELECT COUNT(*) FROM people WHERE STRPTIME(name, '%Q') > '2020-01-01';
-- Unsupported 1:35 a format has a year
SELECT COUNT(*) FROM people WHERE PARSE_DATE('%m/%d', name) > '2020-01-01';
-- TypeMismatch PARSE_DATE does not take
SELECT COUNT(*) FROM people WHERE PARSE_DATE(name, '%Y-%m-%d') > '2020-01-01';
-- TypeMismatch STRPTIME does not take
SELECT COUNT(*) FROM people WHERE STRPTIME(name, name) > '2020-01-01';
-- TypeMismatch a text is needed
SELECT COUNT(*) FROM people WHERE PARSE_TIMESTAMP('%Y-%m-%d', age) > '2020-01-01';
-- TypeMismatch SPLIT_PART does not take
SELECT COUNT(*) FROM people WHERE SPLIT_PART(name, '-', 0) = 'x';
-- TypeMismatch REPLACE does not take
SELECT COUNT(*) FROM people WHERE REPLACE(name, name, 'x') = 'x';
-- TypeMismatch DATE_TRUNC does not take
SELECT COUNT(*) FROM visits WHERE DATE_TRUNC(born, seen) = '2000-01-01';
-- Unsupported an interval is a whole number and a unit
SELECT COUNT(*) FROM visits WHERE born + INTERVAL '1.5' MONTH = '2000-01-01';
-- TypeMismatch a date is needed here
SELECT COUNT(*) FROM people WHERE YEAR(age) = 2000;
-- MissingBounds
SELECT SUM(EXP(income)) FROM people;
-- TypeMismatch
SELECT COUNT(*) FROM people WHERE LEAST(name, 'a') = 'a';
-- TypeMismatch integer is not converted to timestamp
SELECT COUNT(*) FROM people WHERE CAST(age AS TIMESTAMP) = 3;
-- Unsupported types are
SELECT COUNT(*) FROM people WHERE CAST(age AS INTEGER[]) = 3;
--- Sums without bounds
-- MissingBounds 1:8 loose has no bounds
SELECT SUM(loose) FROM visits;
-- MissingBounds
SELECT AVG(loose + 1) FROM visits;
-- MissingBounds
SELECT SUM(loose) FROM visits WHERE loose > 0;
-- MissingBounds
SELECT MEDIAN(loose) FROM visits WHERE loose <> 3;
-- MissingBounds
SELECT SUM(loose) FROM visits WHERE loose BETWEEN 0 AND 1 OR member;
-- MissingBounds
SELECT SUM(LENGTH(note)) FROM visits;
-- MissingBounds
SELECT SUM(CAST(note AS INTEGER)) FROM visits;
-- MissingBounds
SELECT STDDEV(points / score) FROM visits;
-- MissingBounds
SELECT SUM(NULL) FROM people;
-- TooLarge epsilon is too small
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1e-9) SUM(income) FROM people;
--- SET and OPTIONS
-- UnknownName 1:5 did you mean epsilon?
SET epsilonn = 0.1;
-- SyntaxFault
SET epsilon;
-- SyntaxFault
SET epsilon 0.1;
-- SyntaxFault
SET epsilon = ;
-- SyntaxFault
SET;
-- InvalidOption 1:15
SET epsilon = -1;
-- InvalidOption
SET epsilon = 0;
-- InvalidOption
SET epsilon = nan;
-- InvalidOption
SET epsilon = 'inf';
-- InvalidOption
SET epsilon = 1e-320;
-- InvalidOption
SET epsilon = 1e5;
-- InvalidOption
SET epsilon = 99999999999999999999999999999999999999999999999999;
-- InvalidOption
SET epsilon = 1/2;
-- InvalidOption
SET epsilon = 0.1, repeats = free;
-- InvalidOption
SET epsilon = NULL;
-- InvalidOption
SET repeats = 'never';
-- InvalidOption
SET repeats = TRUE;
-- InvalidOption
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=-1) COUNT(*) FROM people;
-- InvalidOption
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=0) COUNT(*) FROM people;
-- InvalidOption
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=nan) COUNT(*) FROM people;
-- InvalidOption
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1e-320) COUNT(*) FROM people;
-- InvalidOption
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1e9) COUNT(*) FROM people;
-- InvalidOption 1:57 given twice
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.1, EPSILON = 0.1) COUNT(*) FROM people;
-- InvalidOption
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(delta=2) COUNT(*) FROM people;
-- InvalidOption
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(delta=-1e-9) COUNT(*) FROM people;
-- UnknownName did you mean epsilon?
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilom=0.1) COUNT(*) FROM people;
-- SyntaxFault
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=0.1,) COUNT(*) FROM people;
-- SyntaxFault
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS epsilon=0.1 COUNT(*) FROM people;
-- SyntaxFault
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=0.1;
-- InvalidOption 1:42 a number is needed
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.1 5) COUNT(*) FROM people;
-- InvalidOption a number is needed
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = '0.1') COUNT(*) FROM people;
-- InvalidOption a number is needed
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1_0) COUNT(*) FROM people;
-- InvalidOption a number is needed
SET epsilon = 0.1 5;
-- InvalidOption 1:58 given twice
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(error = 100,    error = 5) COUNT(*) FROM people;
-- InvalidOption a number is needed
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = (0.5)) COUNT(*) FROM people;
-- SyntaxFault name = value
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon := 0.5) COUNT(*) FROM people;
-- SyntaxFault name = value
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon) COUNT(*) FROM people;
-- UnknownName did you mean relative_error?
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(relativ_error = 0.1) COUNT(*) FROM people;
-- UnknownName options are epsilon
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(seed = 1) COUNT(*) FROM people;
-- UnknownName
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(dp = off) COUNT(*) FROM people;
-- UnknownName
SET noise_index = [1, 2];
-- UnknownName
SET error = 5;
-- UnknownName
SET delta = 1e-6;
-- InvalidOption is a list: [1, 10]
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(noise_index = 1) COUNT(*) FROM people;
-- InvalidOption
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(noise_index = [1, 2) COUNT(*), SUM(age) FROM people;
-- InvalidOption
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(noise_index = 1, 2]) COUNT(*), SUM(age) FROM people;
-- InvalidOption 2, not 3
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(noise_index = [1, 2, 3]) COUNT(*), SUM(age) FROM people;
-- InvalidOption 1:84 for COUNT and SUM
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(noise_index = [1, 2]) COUNT(*) AS number, MEDIAN(age) FROM people;
-- MissingBounds
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(noise_index = [1, 2]) COUNT(*), SUM(loose) FROM visits;
-- InvalidOption no epsilon is large enough
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(error = 1) SUM(income) FROM people;
-- MissingBounds
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(error = 1) SUM(loose) FROM visits;
-- InvalidOption with a subquery
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(error = 10) COUNT(*) FROM people WHERE age > (SELECT AVG(age) FROM people);
-- InvalidOption confidence goes with
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(confidence = 0.9, epsilon = 1) COUNT(*) FROM people;
-- InvalidOption relative_error
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(relative_error = 0.1) COUNT(*), SUM(age) FROM people;
-- InvalidOption 'laplace' or 'gaussian'
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(mechanism = exponential) COUNT(*) FROM people;
-- InvalidOption 'global' or 'smooth'
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(sensitivity = 'local') COUNT(*) FROM people;
-- InvalidOption 1:73 needs delta
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(delta=0, mechanism='gaussian') COUNT(*) FROM people;
-- InvalidOption smooth sensitivity needs delta
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(delta = 0, sensitivity = 'smooth') MEDIAN(age) FROM people;
-- InvalidOption 'laplace' or 'gaussian'
SET mechanism = 'normal';
-- InvalidOption 'global', or 'smooth'
SET sensitivity = 'rough';
--- BigQuery's bounds and options
-- MissingBounds CLAMP
SELECT ANON_SUM(loose) FROM visits;
-- TypeMismatch 1:8 above the upper
SELECT SUM(loose, contribution_bounds_per_row => (10, 0)) FROM visits;
-- TypeMismatch two numbers
SELECT SUM(loose CLAMPED BETWEEN 0 AND points) FROM visits;
-- Unsupported write (0, 1)
SELECT COUNT(*, contribution_bounds_per_group => (2, 2)) FROM visits;
-- UnknownName did you mean contribution_bounds_per_group?
SELECT AVG(loose, contribution_bound_per_group => (0, 1)) FROM visits;
-- UnknownName report_format is 'JSON'
SELECT COUNT(*, report_format => 'PROTO') FROM visits;
-- Unsupported MODE takes no named arguments
SELECT MODE(plan, contribution_bounds_per_row => (0, 1)) FROM visits;
-- MissingBounds CLAMP(loose, low, high)
SELECT ANON_QUANTILES(loose, 4) FROM visits;
-- SyntaxFault
SELECT (points CLAMPED BETWEEN 0 AND 1) FROM visits;
-- InvalidOption 1:42 the privacy unit of visits is a row
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(privacy_unit_column = note) COUNT(*) FROM visits;
-- InvalidOption is 1 at most for visits
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_rows_contributed = 2) COUNT(*) FROM visits;
-- InvalidOption kappa is 1 at most for visits
SELECT WITH ANONYMIZATION OPTIONS(kappa = 3) ANON_COUNT(*) FROM visits;
-- InvalidOption groups are those that the policy declares
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(group_selection_strategy = LAPLACE_THRESHOLD) COUNT(*) FROM visits;
-- InvalidOption HAVING COUNT(*) >= 10
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(min_privacy_units_per_group = 10) plan, COUNT(*) FROM visits GROUP BY plan;
-- SyntaxFault name = value
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(privacy_unit_column) COUNT(*) FROM visits;
-- Unsupported go into HAVING
SELECT SUM(age) FROM people WHERE SUM(age, contribution_bounds_per_row => (0, 1)) > 1;
--- Teaching mode's settings
-- InvalidOption teach
SET dp = off;
-- InvalidOption teach
SET sensitivity = 'local';
-- InvalidOption teach
SET reveal = on;

--- Over answers.
-- Unsupported 1:8 must be inside an aggregate or in GROUP BY
SELECT zip, MAX(n) FROM (SELECT zip, COUNT(*) AS n FROM people GROUP BY zip) AS t;
-- UnknownName 1:8 no column m
SELECT m FROM (SELECT zip, COUNT(*) AS n FROM people GROUP BY zip) AS t;
-- Unsupported 1:23 a window cannot be inside another
SELECT zip, COUNT(*), SUM(RANK() OVER (ORDER BY zip)) OVER (ORDER BY zip) FROM people GROUP BY zip;
-- Unsupported go into QUALIFY
SELECT zip, COUNT(*) FROM people GROUP BY zip HAVING RANK() OVER (ORDER BY COUNT(*)) < 3;
-- Unsupported its usual frame, or ROWS BETWEEN
SELECT zip, SUM(COUNT(*)) OVER (ORDER BY zip RANGE BETWEEN 5 PRECEDING AND CURRENT ROW) FROM people GROUP BY zip;
-- Unsupported IGNORENULLS is no window function here
SELECT zip, LAG(COUNT(*)) IGNORE NULLS OVER (ORDER BY zip) FROM people GROUP BY zip;
-- TypeMismatch a whole number from 1
SELECT zip, NTILE(0) OVER (ORDER BY COUNT(*)) FROM people GROUP BY zip;
-- Unsupported STDDEV is no window function here
SELECT zip, STDDEV(COUNT(*)) OVER () FROM people GROUP BY zip;
-- UnknownName 1:25 no window v
SELECT zip, RANK() OVER v FROM people GROUP BY zip WINDOW w AS (ORDER BY zip);
-- TypeMismatch same number of columns
SELECT zip, COUNT(*) FROM people GROUP BY zip UNION ALL SELECT COUNT(*) FROM people;
-- TypeMismatch which do not mix
SELECT 'all' AS zip, COUNT(*) FROM people UNION ALL SELECT zip, COUNT(*) FROM people GROUP BY zip;
-- Unsupported EXCEPT is not supported
SELECT COUNT(*) FROM people EXCEPT SELECT SUM(age) FROM people;
-- Unsupported one column
WITH t AS (SELECT zip, COUNT(*) AS n FROM people GROUP BY zip) SELECT zip FROM t WHERE n = (SELECT n FROM t);
-- Unsupported ORDER BY takes columns of the answer
SELECT DISTINCT zip FROM (SELECT zip, COUNT(*) AS n FROM people GROUP BY zip) AS t ORDER BY n;
-- TooLarge more than 32 levels
SELECT COUNT(*) FROM visits GROUP BY CUBE(plan, member, grade, seen, ratio, floor);
-- TypeMismatch GROUPING takes columns
SELECT GROUPING(COUNT(*)), COUNT(*) FROM visits GROUP BY ROLLUP(plan);
-- Unsupported 1:17 must be inside an aggregate
SELECT GROUPING(member), COUNT(*) FROM visits GROUP BY ROLLUP(plan);
-- UnknownName no column 3 in the answer
SELECT plan, COUNT(*) FROM visits GROUP BY ROLLUP(3);
-- Unsupported are for the SELECT that reads a table
SELECT n, COUNT(*) FROM (SELECT plan, COUNT(*) AS n FROM visits GROUP BY plan) AS t GROUP BY ROLLUP(n);
-- TypeMismatch a number is needed here, not text
SELECT CORR(plan, points) FROM visits;
-- MissingBounds
SELECT COVAR_POP(loose, points) FROM visits;
-- TypeMismatch a quantile needs a constant
SELECT APPROX_QUANTILE(points, points) FROM visits;
-- Unsupported answers are joined with answers
SELECT COUNT(*) FROM people JOIN (SELECT zip, COUNT(*) AS n FROM people GROUP BY zip) AS t ON people.zip = t.zip;
-- UnknownName may be one of several columns
WITH t AS (SELECT zip, COUNT(*) AS n FROM people GROUP BY zip) SELECT n FROM t, t AS u;
-- Unsupported a subquery cannot be in ON here
WITH t AS (SELECT zip, COUNT(*) AS n FROM people GROUP BY zip) SELECT t.n FROM t JOIN t AS u ON t.n > (SELECT AVG(n) FROM t);
-- Unsupported goes into the SELECT whose answer is read
SELECT DP_INTERVAL_LOW(MAX(n)) FROM (SELECT zip, COUNT(*) AS n FROM people GROUP BY zip) AS t;
-- TypeMismatch takes a number from aggregates
SELECT zip, DP_INTERVAL_LOW(COUNT(*) / SUM(COUNT(*)) OVER ()) FROM people GROUP BY zip;
-- Unsupported GROUPING is for the SELECT
SELECT n, GROUPING(n), COUNT(*) FROM (SELECT zip, COUNT(*) AS n FROM people GROUP BY zip) AS t GROUP BY n;
-- Unsupported cannot order a UNION
SELECT COUNT(*) AS n FROM people UNION ALL SELECT SUM(age) FROM people ORDER BY n - (SELECT COUNT(*) FROM people);
-- TypeMismatch 1:35 DECODE(x, value, result, …, [default])
SELECT COUNT(*) FROM visits WHERE DECODE(grade, 1);
-- Unsupported note must be inside an aggregate
SELECT note || COUNT(*) FROM visits GROUP BY ALL;
-- UnknownName no column all
SELECT COUNT(*) FROM visits GROUP BY plan, ALL;
-- UnknownName 1:8 no column plan
SELECT plan, (SELECT COUNT(*) FROM visits);
-- Unsupported FROM a table
SELECT *, (SELECT COUNT(*) FROM visits);
-- Unsupported where in SELECT
SELECT (SELECT COUNT(*) FROM visits) WHERE TRUE;
-- Unsupported a subquery gives one value
SELECT (SELECT plan FROM visits GROUP BY plan);
-- Unsupported 1:8 APPROX_QUANTILES(points, 4)[OFFSET(1)]
SELECT APPROX_QUANTILES(points, 3) + 1 FROM visits;
-- TooLarge more than 200 elements
SELECT APPROX_QUANTILES(points, 200) FROM visits;
-- TypeMismatch takes a number of parts
SELECT APPROX_QUANTILES(points + 1, grade) FROM visits;
-- TypeMismatch a number from 0 to 4
SELECT APPROX_QUANTILES(points, 4)[5] FROM visits;
-- TypeMismatch a number from 1 to 2
SELECT QUANTILE_CONT(points, [0.1, 0.2])[0] FROM visits;
-- TypeMismatch a list of numbers
SELECT QUANTILE_CONT(points, ['a']) FROM visits;
-- TypeMismatch between 0 and 1
SELECT QUANTILE_CONT(points, [1.5]) FROM visits;
-- TypeMismatch the list is empty
SELECT HISTOGRAM(points, []) FROM visits;
-- TypeMismatch the ends of the bins must rise
SELECT HISTOGRAM(points, [3, 3]) FROM visits;
-- Unsupported DISTINCT is not supported in quantiles
SELECT APPROX_QUANTILES(DISTINCT points, 2) FROM visits;
-- TypeMismatch WIDTH_BUCKET(x, 0, 100, 5)
SELECT COUNT(*) FROM visits WHERE WIDTH_BUCKET(points, 10, 0, 3) = 1;
-- TypeMismatch WIDTH_BUCKET takes two constants
SELECT COUNT(*) FROM visits WHERE WIDTH_BUCKET(points, 0, grade, 3) = 1;
-- Unsupported SELECT plan, COUNT(*) AS n … GROUP BY plan ORDER BY n DESC LIMIT 2
SELECT Approx_Top_Count(plan, 2), COUNT(*) FROM visits;
-- Unsupported SELECT plan, SUM(points) AS s … GROUP BY plan ORDER BY s DESC
SELECT APPROX_TOP_SUM(plan, points, 2) FROM visits GROUP BY member;
-- Unsupported SELECT plan, COUNT(*) AS n … GROUP BY plan ORDER BY n DESC LIMIT 10
SELECT APPROX_TOP_K(plan), COUNT(*) FROM visits;
-- Unsupported SELECT grade, COUNT(*) AS n … GROUP BY grade
SELECT HISTOGRAM(grade) FROM visits GROUP BY plan;
-- Unsupported the policy lists no values
SELECT HISTOGRAM(loose) FROM visits;
-- Unsupported HISTOGRAM(points, [10, 20, 30])
SELECT plan, HISTOGRAM(points, 20) FILTER (WHERE member) FROM visits GROUP BY plan;
-- Unsupported an aggregate cannot be used here
SELECT COUNT(*) FROM visits WHERE HISTOGRAM(points) > 0;
-- MissingBounds CLAMP(loose, low, high)
SELECT SUM(DISTINCT loose) FROM visits;
-- TypeMismatch a number is needed
SELECT AVG(DISTINCT born) FROM visits;
-- TypeMismatch MIN needs an argument
SELECT MIN(DISTINCT points, grade) FROM visits;
-- Unsupported DISTINCT is not supported
SELECT MEDIAN(DISTINCT points) FROM visits;
-- Unsupported UNION makes one row of equal rows
SELECT COUNT(*) FROM (SELECT age FROM people UNION SELECT age FROM people) AS t;
-- Unsupported people and visits are not in one UNION ALL: each row of people is a unit
SELECT COUNT(*) FROM (SELECT age FROM people UNION ALL SELECT points FROM visits) AS t;
-- Unsupported LIMIT inside a subquery chooses among the rows
SELECT COUNT(*) FROM (SELECT age FROM people UNION ALL SELECT age FROM people LIMIT 3) AS t;
-- Unsupported leave ORDER BY to the outer SELECT
SELECT COUNT(*) FROM (SELECT age FROM people UNION ALL SELECT age FROM people ORDER BY 1) AS t;
-- Unsupported EXCEPT is not supported
SELECT COUNT(*) FROM (SELECT age FROM people EXCEPT SELECT age FROM people) AS t;
-- Unsupported not compared with the rows of a UNION ALL
SELECT COUNT(*) FROM (SELECT age FROM people UNION ALL SELECT age FROM people WHERE age > (SELECT AVG(age) FROM people)) AS t;
-- Unsupported each SELECT of a UNION needs an aggregate
SELECT COUNT(*) FROM (SELECT age FROM people UNION ALL SELECT COUNT(*) FROM people) AS t;
-- TypeMismatch the same number of columns
SELECT COUNT(*) FROM (SELECT age FROM people UNION ALL SELECT age, zip FROM people) AS t;
-- TypeMismatch do not mix
SELECT COUNT(*) FROM (SELECT points FROM visits UNION ALL SELECT plan FROM visits) AS t;
--- Timestamps
-- TypeMismatch '2024-13-01 00:00:00' is not a timestamp
SELECT COUNT(*) FROM visits WHERE arrived < TIMESTAMP '2024-13-01 00:00:00';
-- TypeMismatch 'noon' is not a timestamp
SELECT COUNT(*) FROM visits WHERE arrived < 'noon';
-- TypeMismatch in the years 1700 to 2199
SELECT COUNT(*) FROM visits WHERE arrived < '9999-12-31 00:00:00';
-- TypeMismatch does not say its time zone
SELECT COUNT(*) FROM visits WHERE arrived < TIMESTAMPTZ '2024-02-01 00:00:00';
-- Unsupported timestamps are in UTC, and no other time zone is known
SELECT COUNT(*) FROM visits WHERE arrived AT TIME ZONE 'Europe/Berlin' < '2024-02-01';
-- TypeMismatch is not a timestamp
SELECT COUNT(*) FROM visits WHERE arrived < TIMESTAMP '2024-02-01 00:00:00 Europe/Berlin';
-- Unsupported a timestamp has no century
SELECT COUNT(*) FROM visits WHERE EXTRACT(CENTURY FROM arrived) = 21;
-- Unsupported a timestamp has no decade
SELECT DATE_TRUNC('decade', arrived) AS d, COUNT(*) FROM visits GROUP BY d;
-- Unsupported TIMESTAMP_DIFF counts no month
SELECT AVG(TIMESTAMP_DIFF(departed, arrived, MONTH)) FROM visits;
-- TypeMismatch what is added to a timestamp, or taken from it, is an INTERVAL
SELECT AVG(departed - arrived) FROM visits;
-- TypeMismatch ts + INTERVAL 2 HOUR
SELECT MAX(arrived + 1) FROM visits;
-- TypeMismatch a number is needed here, not timestamp
SELECT SUM(arrived) FROM visits;
-- TypeMismatch a number is needed here, not timestamp
SELECT STDDEV(arrived) FROM visits;
-- TypeMismatch a number is needed here
SELECT AVG(DISTINCT arrived) FROM visits;
-- TypeMismatch EXTRACT(EPOCH FROM ts)
SELECT SUM(CAST(arrived AS INTEGER)) FROM visits;
-- TypeMismatch integer and timestamp do not mix
SELECT COUNT(*) FROM visits WHERE arrived > points;
-- MissingBounds logged has no bounds
SELECT AVG(logged) FROM visits;
-- TypeMismatch TIMESTAMP_TRUNC('unit', date), for year
SELECT COUNT(TIMESTAMP_TRUNC(arrived, HOUR, 'America/New_York')) FROM visits;
-- Unsupported this type is not supported
SELECT COUNT(CAST(arrived AS TIME)) FROM visits;
-- Unsupported an interval is a whole number and a unit
SELECT MAX(arrived + INTERVAL points MINUTE) FROM visits;
-- Unsupported an interval is a whole number and a unit
SELECT MAX(DATEADD(day, points, arrived)) FROM visits;
-- Unsupported CURRENT_DATE is the day in UTC
SELECT COUNT(*) FROM visits WHERE arrived > NOW() - INTERVAL 1 DAY;
-- Unsupported it does not know the time
SELECT COUNT(*) FROM visits WHERE arrived > CURRENT_TIMESTAMP;
--- UNNEST
-- Unsupported 1 to 50 constants
SELECT x FROM UNNEST(GENERATE_SERIES(1, 7)) AS x;
-- Unsupported 1 to 50 constants
SELECT * FROM UNNEST([1, 2], [3, 4]) AS t(a, b);
-- UnknownName no column points
SELECT x FROM UNNEST([points]) AS x;
-- TypeMismatch do not mix
SELECT x FROM UNNEST([1, 'a']) AS x;
-- Unsupported not with private ones
SELECT COUNT(*) FROM UNNEST([1, 2]) AS x JOIN people ON x = age;
-- Unsupported IN UNNEST([1, 2])
SELECT COUNT(*) FROM people WHERE age IN UNNEST(GENERATE_SERIES(1, 7));
-- Unsupported a join in parentheses is the first
SELECT COUNT(*) FROM people JOIN (visits JOIN visits AS b ON visits.plan = b.plan) ON age = points;
-- Unsupported [1:5]) AS p has a row
SELECT COUNT(*) FROM people, UNNEST(SPLIT(name, ' ')) AS p;
-- Unsupported 1 to 50 parts
SELECT COUNT(*) FROM people, UNNEST(SPLIT(name, ' ')[1:51]) AS p;
-- Unsupported UNNEST takes [a, b, …]
SELECT COUNT(*) FROM people, UNNEST(SPLIT(name, ' ')[3:2]) AS p;
-- Unsupported UNNEST takes one list
SELECT COUNT(*) FROM people, UNNEST([1, 2]);
-- Unsupported not joined on a condition
SELECT COUNT(*) FROM people JOIN UNNEST([1, 2]) AS p ON TRUE;
-- TooLarge more than 50 tables
SELECT COUNT(*) FROM people, UNNEST([1, 2, 3, 4, 5, 6, 7, 8]) AS a, UNNEST([1, 2, 3, 4, 5, 6, 7]) AS b;
--- Habits of other systems
-- UnknownName 1:56 COUNT(*) AS count gives
SELECT zip, COUNT(*) FROM people GROUP BY zip ORDER BY count;
-- UnknownName SUM(x) AS sum gives
SELECT plan, SUM(points) FROM visits GROUP BY plan HAVING sum > 3;
-- Unsupported as in WHERE o.id = c.id
SELECT COUNT(*) FROM people WHERE zip = ANY (SELECT zip FROM people);
-- Unsupported EXISTS (SELECT 1 FROM s WHERE s.x = t.x AND s.y = t.y)
SELECT COUNT(*) FROM people WHERE (zip, age) IN (SELECT zip, age FROM people);
-- Unsupported COUNT_IF(x < 30) / COUNT(x)
SELECT PERCENT_RANK(30) WITHIN GROUP (ORDER BY age) FROM people;
-- UnknownName SHOW TABLES lists the tables
SHOW DATABASES;
-- UnknownName DESCRIBE table shows its columns
SHOW COLUMNS FROM people;
-- Unsupported a format has a year
SELECT COUNT(STRPTIME(note, ['%Y-%m-%d', '%d'])) FROM visits;
