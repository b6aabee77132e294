--- Counting
SELECT COUNT(*) FROM people;
select count(*) from people;
SELECT COUNT(*) AS n FROM people;
SELECT COUNT(*) n FROM people;
SELECT COUNT(*) AS "how many" FROM people;
SELECT COUNT(name) FROM people;
SELECT COUNT(income / net_worth) FROM people;
SELECT COUNT(1) FROM people;
SELECT COUNT(NULL) FROM people;
SELECT COUNT(DISTINCT name) FROM people;
SELECT COUNT(DISTINCT LOWER(name)) FROM people;
SELECT COUNT(DISTINCT age) FROM people;
SELECT COUNT(DISTINCT age > 30) FROM people;
SELECT COUNT(DISTINCT born), COUNT(DISTINCT member), COUNT(DISTINCT loose) FROM visits;
SELECT COUNT(DISTINCT NULL) FROM people;
--- Regular expressions
SELECT COUNT(*) FROM people WHERE REGEXP_CONTAINS(name, '^[A-D]\w+ W') AND NOT REGEXP_LIKE(name, '(?i)el$');
SELECT COUNT(*) FROM people WHERE REGEXP_LIKE(name, '(a+)+$');
SELECT REGEXP_MATCHES(name, '^A') AS begins, COUNT(*) FROM people GROUP BY 1;
--- DISTINCT, and keys that are found in the data
SELECT DISTINCT zip FROM people;
SELECT DISTINCT zip, FLOOR(age / 10) * 10 AS decade, 5 FROM people WHERE age >= 30 ORDER BY decade;
SELECT DISTINCT COUNT(*) FROM people;
SELECT DISTINCT zip, (SELECT COUNT(*) FROM people) AS everybody FROM people;
SELECT DISTINCT zip, COUNT(*) FROM people GROUP BY zip;
SELECT zip FROM people GROUP BY zip;
SELECT name, COUNT(*) FROM people GROUP BY name;
SELECT DISTINCT zip, name FROM people;
SELECT COUNT(*), MAX(n) FROM (SELECT name, COUNT(*) AS n FROM people GROUP BY name) AS t WHERE n > 30;
SELECT zip, name, COUNT(*) FROM people GROUP BY ROLLUP(name, zip) ORDER BY 3 DESC LIMIT 5;
SELECT net_worth, COUNT(*), MEDIAN(age) FROM people GROUP BY net_worth;
SELECT LOWER(name), COUNT(*) FROM people GROUP BY 1 HAVING COUNT(*) > 20 ORDER BY 2 DESC LIMIT 3;
SELECT COUNT(*) FROM people GROUP BY age + (SELECT COUNT(*) FROM people);
SELECT zip, name || 'x' AS n, COUNT(*), AVG(income) FROM people GROUP BY n, zip;
--- The other aggregates and their spellings
SELECT SUM(income) FROM people;
SELECT sUm(INCOME) FROM PEOPLE;
SELECT AVG(income) FROM people;
SELECT MEAN(income) FROM people;
SELECT AVG(born) FROM visits;
SELECT MIN(age), MAX(age) FROM people;
SELECT MIN(born), MAX(born), MEDIAN(born) FROM visits;
SELECT MIN(score), MAX(ratio), MIN(grade) FROM visits;
SELECT VARIANCE(age), VAR_SAMP(age), VAR_POP(age) FROM people;
SELECT STDDEV(age), SD(age), STDDEV_SAMP(age), STDDEV_POP(age) FROM people;
SELECT MEDIAN(income) FROM people;
SELECT QUANTILE_CONT(income, 0.25) FROM people;
SELECT PERCENTILE_CONT(income, 0.9) FROM people;
SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY income) FROM people;
SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY income DESC) FROM people;
SELECT QUANTILE_CONT(age, 0), QUANTILE_CONT(age, 1) FROM people;
SELECT MODE(zip) FROM people;
SELECT MODE() WITHIN GROUP (ORDER BY zip) FROM people;
SELECT MODE(plan), MODE(member), MODE(grade), MODE(seen), MODE(ratio), MODE(points) FROM visits;
--- Arguments that are expressions
SELECT SUM(age * 2 + 1) FROM people;
SELECT SUM(-age) FROM people;
SELECT SUM(income - 20000) FROM people;
SELECT AVG(income / age) FROM people;
SELECT SUM(1) FROM people;
SELECT SUM(0) FROM people;
SELECT AVG(5), MEDIAN(5), STDDEV(5) FROM people;
SELECT SUM(CASE WHEN age > 30 THEN 1 ELSE 0 END) FROM people;
SELECT SUM(CASE WHEN age > 30 THEN 1 END) FROM people;
SELECT SUM(CASE WHEN age > 30 THEN NULL ELSE income END) FROM people;
SELECT AVG(CASE age WHEN 30 THEN 1 WHEN 31 THEN 2 ELSE 3 END) FROM people;
SELECT SUM(CLAMP(loose, -10, 10)) FROM visits;
SELECT AVG(CLAMP(CAST(note AS NUMBER), 0, 1)) FROM visits;
SELECT SUM(loose) FROM visits WHERE loose BETWEEN 0 AND 10;
SELECT SUM(loose) FROM visits WHERE loose >= 0 AND loose < 10 AND member;
SELECT SUM(loose) FILTER (WHERE loose IN (1, 2, 3)) FROM visits;
SELECT SUM(points / 10), SUM(points % 7), SUM(ABS(score)), SUM(ROUND(score)) FROM visits;
SELECT SUM(born - DATE '1930-01-01') FROM visits;
SELECT SUM(CAST(member AS INTEGER)) FROM visits;
SELECT MAX(born + 1), MIN(born - 1) FROM visits;
SELECT SUM(floor) FROM visits;
--- Bounds as BigQuery writes them
SELECT SUM(loose, contribution_bounds_per_row => (0, 10)) FROM visits;
SELECT SUM(loose, contribution_bounds_per_group => (-0.5, 10)) FILTER (WHERE member) FROM visits;
SELECT COUNT(*, contribution_bounds_per_group => (0, 100)) FROM visits;
SELECT AVG(loose, contribution_bounds_per_group => (0, 100)) + 1 AS a FROM visits HAVING AVG(loose, contribution_bounds_per_group => (0, 100)) > -1000;
SELECT VAR_POP(loose, contribution_bounds_per_row => (0, 10)), STDDEV_POP(loose, contribution_bounds_per_row => (0, 10)) FROM visits;
SELECT PERCENTILE_CONT(loose, 0.5, contribution_bounds_per_row => (0, 10)) FROM visits;
SELECT plan, ANON_COUNT(*), ANON_COUNT(note CLAMPED BETWEEN 0 AND 5), ANON_SUM(loose CLAMPED BETWEEN 0 AND 10), ANON_AVG(points) FROM visits GROUP BY plan;
SELECT ANON_VAR_POP(points), ANON_STDDEV_POP(loose CLAMPED BETWEEN 0 AND 10), ANON_PERCENTILE_CONT(loose, 0.5 CLAMPED BETWEEN 0 AND 10) FROM visits;
SELECT WITH DIFFERENTIAL_PRIVACY plan, COUNT(*) FROM visits GROUP BY plan;
select with anonymization anon_count(* clamped between 0 and 1) from visits;
SELECT WITH ANONYMIZATION OPTIONS() AVG(points) AS date, ANON_COUNT(*) FROM visits HAVING date > 1;
SELECT WITH ANONYMIZATION ANON_SUM(date CLAMPED BETWEEN 0 AND 100) FROM (SELECT points AS date FROM visits) AS v;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(bounds = 'find') AVG(income), SUM(age), COUNT(*) FROM people WHERE zip > 20000;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.5) MAX(n) FROM (SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_groups_contributed = 1) plan, COUNT(*) AS n FROM visits GROUP BY plan) AS v;
SELECT WITH ANONYMIZATION OPTIONS(epsilon = 0.5, kappa = 1) ANON_SUM(points) FROM visits;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.5, delta = 1e-7, max_groups_contributed = 1, group_selection_strategy = PUBLIC_GROUPS) plan, COUNT(*) AS n FROM visits GROUP BY plan;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_rows_contributed = 1) SUM(points * 2 CLAMPED BETWEEN 10 AND 150) FROM visits WHERE loose > (SELECT ANON_AVG(loose CLAMPED BETWEEN 0 AND 5) FROM visits);
--- Arithmetic on aggregates
SELECT SUM(income) / COUNT(*) FROM people;
SELECT 100 * AVG(age) FROM people;
SELECT -COUNT(*), +COUNT(*), - - COUNT(*), COUNT(*) % 7 FROM people;
SELECT (COUNT(*) - 1) * 2 AS twice FROM people;
SELECT ROUND(AVG(age), 1), FLOOR(AVG(age)), CEIL(AVG(age)), ABS(SUM(net_worth)) FROM people;
SELECT COUNT(*) / 0, COUNT(*) % 0 FROM people;
SELECT 1e300 * AVG(age) * 1e300 FROM people;
SELECT CAST(AVG(age) AS INTEGER), CAST(COUNT(*) AS TEXT), CAST(COUNT(*) AS BOOLEAN) FROM people;
SELECT CAST(COUNT(*) AS DATE), CAST(1e15 * COUNT(*) AS DATE) FROM people;
SELECT LEAST(COUNT(*), 100), GREATEST(0, COUNT(*) - 20000), CLAMP(COUNT(*), 0, 9) FROM people;
SELECT COALESCE(NULLIF(COUNT(*), 3), 5) FROM people;
SELECT COUNT(*) > 30, COUNT(*) IN (1, 2), COUNT(*) BETWEEN 1 AND 5, COUNT(*) IS NULL FROM people;
SELECT CASE WHEN COUNT(*) > 30 THEN 'many' ELSE 'few' END FROM people;
SELECT CASE WHEN COUNT(*) > 30 THEN COUNT(*) END FROM people;
SELECT IF(COUNT(*) > 30, 1, 0) FROM people;
SELECT COUNT(*) AS n, n * 2 AS m, m + n FROM people;
SELECT COUNT(*), 1, 1.5, 'a', TRUE, NULL, DATE '2000-01-01' FROM people;
SELECT COUNT(*) FILTER (WHERE age > 30) / COUNT(*) AS share FROM people;
--- FILTER
SELECT COUNT(*) FILTER (WHERE age > 30), SUM(income) FILTER (WHERE zip = 31643) FROM people;
SELECT MEDIAN(age) FILTER (WHERE age > 30) FROM people;
SELECT COUNT(DISTINCT name) FILTER (WHERE age > 30) FROM people WHERE zip = 31643;
SELECT MODE(zip) FILTER (WHERE age > 60) FROM people;
SELECT zip, MODE(zip, income - age) FILTER (WHERE age > 60) FROM people GROUP BY zip;
SELECT MODE(plan, points), MODE(member, CLAMP(score, -1, 1)) FROM visits WHERE points BETWEEN 2 AND 5;
SELECT STDDEV(score) FILTER (WHERE member) FROM visits WHERE NOT member;
--- Comparisons
SELECT COUNT(*) FROM people WHERE age = 30;
SELECT COUNT(*) FROM people WHERE age == 30;
SELECT COUNT(*) FROM people WHERE age <> 30 AND age != 31;
SELECT COUNT(*) FROM people WHERE age < 30 OR age <= 20 OR age > 60 OR age >= 65;
SELECT COUNT(*) FROM people WHERE 30 < age;
SELECT COUNT(*) FROM people WHERE age = 30.0 AND age > .5 AND age < 5.e1 AND age < 1E2;
SELECT COUNT(*) FROM people WHERE age > 1e300 OR age > -1e300;
SELECT COUNT(*) FROM people WHERE name = 'Abel Woods';
SELECT COUNT(*) FROM people WHERE name = "Abel Woods";
SELECT COUNT(*) FROM people WHERE "name" = "no such ""name""";
SELECT COUNT(*) FROM people WHERE name > 'M' AND name <= 'O''Neill';
SELECT COUNT(*) FROM visits WHERE "odd name" = 'a';
SELECT COUNT(*) FROM visits WHERE born < '1990-01-01';
SELECT COUNT(*) FROM visits WHERE born < DATE '1990-01-01' AND CAST('1950-01-01' AS DATE) < born;
SELECT COUNT(*) FROM visits WHERE born BETWEEN '1950-01-01' AND '1990-12-31';
SELECT COUNT(*) FROM visits WHERE born IN ('1950-03-01', DATE '1985-05-05');
SELECT COUNT(*) FROM visits WHERE member;
SELECT COUNT(*) FROM visits WHERE member = TRUE OR member <> FALSE;
SELECT COUNT(*) FROM visits WHERE score = 4.5 AND ratio = 0.25 AND grade = 5;
SELECT COUNT(*) FROM people WHERE 1 = 1;
SELECT COUNT(*) FROM people WHERE 1 < 2 AND 'a' <> 'b' AND DATE '2000-01-01' < '2000-01-02';
SELECT COUNT(*) FROM people WHERE TRUE;
SELECT COUNT(*) FROM people WHERE NULL;
SELECT COUNT(*) FROM people WHERE NULL = NULL OR NULL IS NULL OR NOT NULL;
SELECT COUNT(*) FROM people WHERE name = '\' OR 1 = 1 --' AND age > ';
SELECT COUNT(*) FROM people WHERE name = 'x''; DROP TABLE people; --';
--- BETWEEN, IN, LIKE, IS
SELECT COUNT(*) FROM people WHERE age BETWEEN 30 AND 40;
SELECT COUNT(*) FROM people WHERE age NOT BETWEEN 30 AND 40;
SELECT COUNT(*) FROM people WHERE zip IN (31643, 80127);
SELECT COUNT(*) FROM people WHERE zip NOT IN (31643, NULL);
SELECT SUM(age) FROM people WHERE age IN (NULL);
SELECT COUNT(*) FROM people WHERE age IN (-1, 1 + 1, zip, 30);
SELECT COUNT(*) FROM people WHERE name IN ('Abel Woods', "Foo Bar", NULL);
SELECT COUNT(*) FROM people WHERE NULL IN (1, 2);
SELECT COUNT(*) FROM people WHERE name LIKE 'A%' OR name LIKE '_e%' OR name LIKE '%' OR name LIKE '';
SELECT COUNT(*) FROM people WHERE name NOT LIKE '%oo%';
SELECT COUNT(*) FROM people WHERE name ILIKE 'abel%';
SELECT COUNT(*) FROM people WHERE name LIKE NULL;
SELECT COUNT(*) FROM visits WHERE note LIKE '%!%%' ESCAPE '!';
SELECT COUNT(*) FROM visits WHERE note NOT LIKE 'x\%_' ESCAPE '\';
SELECT COUNT(*) FROM people WHERE 'abc' LIKE 'a%';
SELECT COUNT(*) FROM people WHERE name LIKE '%a%a%a%a%a%a%a%a';
SELECT COUNT(*) FROM visits WHERE born IS NULL OR member IS NOT NULL;
SELECT COUNT(*) FROM visits WHERE member IS TRUE OR member IS NOT FALSE;
SELECT COUNT(*) FROM visits WHERE (score > 0) IS NOT TRUE;
--- AND, OR, NOT, CASE and arithmetic in conditions
SELECT COUNT(*) FROM people WHERE NOT (age > 30 AND zip = 31643) OR NOT age < 20;
SELECT COUNT(*) FROM people WHERE (((age) > ((30))));
SELECT COUNT(*) FROM people WHERE age + 1 > 2 * 15 - 3 / 4 AND age % 2 = 0;
SELECT COUNT(*) FROM people WHERE MOD(age, 2) = 1;
SELECT COUNT(*) FROM people WHERE -age < -30 AND age > - -3;
SELECT COUNT(*) FROM people WHERE 1 / (age - 33) > 0;
SELECT COUNT(*) FROM people WHERE CASE WHEN age > 30 THEN TRUE WHEN age < 20 THEN FALSE END;
SELECT COUNT(*) FROM people WHERE CASE age WHEN 30 THEN 'x' ELSE 'y' END = 'x';
SELECT COUNT(*) FROM people WHERE CASE WHEN TRUE THEN NULL END IS NULL;
SELECT COUNT(*) FROM visits WHERE born + 30 < '1990-01-01' AND born - DATE '1950-01-01' > 10;
--- Functions
SELECT COUNT(*) FROM people WHERE COALESCE(net_worth, age, 0) > 3 AND COALESCE(name, 'x') <> 'x';
SELECT COUNT(*) FROM people WHERE NULLIF(age, 30) IS NULL OR NULLIF(name, 'x') = 'y';
SELECT COUNT(*) FROM people WHERE ABS(net_worth) > 10 AND ROUND(income) = 3 AND ROUND(income, 2) = 3;
SELECT COUNT(*) FROM people WHERE ROUND(age, -1) = 30 AND FLOOR(income) = 3 AND CEIL(income) = 3;
SELECT COUNT(*) FROM people WHERE CEILING(income) = 3;
SELECT COUNT(*) FROM people WHERE LEAST(age, 30, NULL) = GREATEST(age, 30);
SELECT COUNT(*) FROM people WHERE CLAMP(age, 20, 30) = 30;
SELECT COUNT(*) FROM people WHERE LOWER(name) = 'abel woods' OR UPPER(name) = 'X' OR LENGTH(name) = 5;
SELECT COUNT(*) FROM people WHERE SUBSTR(name, 1, 2) = 'Ab' OR SUBSTR(name, 3) = 'c';
SELECT COUNT(*) FROM people WHERE SUBSTRING(name FROM 1 FOR 2) = 'Ab';
SELECT COUNT(*) FROM people WHERE name || ', ' || zip = 'Abel Woods, 31643';
SELECT COUNT(DISTINCT name || (age > 40)) AS a, 'n = ' || COUNT(*) AS b FROM people;
SELECT COUNT(*) FROM people WHERE LOWER(NULL) = 'a' OR LENGTH(NULL) = 1;
SELECT COUNT(*) FROM people WHERE IF(age > 30, TRUE, FALSE);
--- CAST between the policy's types
SELECT COUNT(*) FROM people WHERE CAST(name AS INTEGER) = 3 OR CAST(name AS NUMBER) = 3;
SELECT COUNT(*) FROM people WHERE CAST(name AS DATE) = '2000-01-01' OR CAST(name AS BOOLEAN);
SELECT COUNT(*) FROM people WHERE CAST(age AS TEXT) = '30' AND age::TEXT = '30';
SELECT COUNT(*) FROM people WHERE TRY_CAST(name AS INT) = 3;
SELECT COUNT(*) FROM people WHERE CAST(age AS BIGINT) = 3 OR CAST(age AS DOUBLE) = 3;
SELECT COUNT(*) FROM people WHERE CAST(age AS FLOAT) = 3 OR CAST(age AS DECIMAL) = 3;
SELECT COUNT(*) FROM people WHERE CAST(age AS VARCHAR) = '3' OR CAST(age AS BOOLEAN);
SELECT COUNT(*) FROM visits WHERE CAST(born AS TEXT) = '1950-03-01' OR CAST(member AS TEXT) = 'true';
SELECT COUNT(*) FROM visits WHERE CAST(score AS INTEGER) = 4 OR CAST(NULL AS DATE) = born;
SELECT COUNT(*) FROM people WHERE CASE WHEN age = 33 THEN income * 1e300 * 1e300 ELSE 0 END > 1;
--- GROUP BY
SELECT zip, COUNT(*) FROM people GROUP BY zip;
SELECT COUNT(*) FROM people GROUP BY "zip";
SELECT zip AS area, AVG(income) AS mean FROM people GROUP BY area;
SELECT zip, COUNT(*) FROM people GROUP BY 1;
SELECT zip AS Area, COUNT(*) FROM people GROUP BY aREA;
SELECT zip AS area, COUNT(*) FROM people GROUP BY 1;
SELECT COUNT(*) AS zip, zip AS area FROM people GROUP BY zip;
SELECT zip, COUNT(*) FROM people GROUP BY (zip);
SELECT people.zip, COUNT(*) FROM people GROUP BY people.zip;
SELECT age, COUNT(*) FROM people GROUP BY age;
SELECT plan, member, COUNT(*), SUM(points) FROM visits GROUP BY plan, member;
SELECT member, MEDIAN(points), MODE(plan) FROM visits GROUP BY member;
SELECT seen, ratio, COUNT(*) FROM visits GROUP BY seen, ratio, seen;
SELECT zip, zip % 100, CASE WHEN zip > 50000 THEN 'west' ELSE 'east' END, COUNT(*) FROM people GROUP BY zip;
SELECT zip, COUNT(*) FROM people WHERE zip IN (31643, 80127) GROUP BY zip;
SELECT UPPER(plan), COUNT(*) FROM visits GROUP BY plan;
--- HAVING, ORDER BY, LIMIT
SELECT zip, COUNT(*) AS n FROM people GROUP BY zip HAVING n > 250;
SELECT zip FROM people GROUP BY zip HAVING COUNT(*) > 250 AND zip > 50000;
SELECT zip, COUNT(*) FROM people GROUP BY zip HAVING FALSE;
SELECT zip, COUNT(*) FROM people GROUP BY zip HAVING NULL;
SELECT COUNT(*) FROM people HAVING COUNT(*) > 5;
SELECT zip, COUNT(*) FROM people GROUP BY zip ORDER BY COUNT(*) DESC, zip ASC LIMIT 5;
SELECT zip, COUNT(*) AS n FROM people GROUP BY zip ORDER BY n NULLS LAST LIMIT 5 OFFSET 2;
SELECT zip, COUNT(*) FROM people GROUP BY zip ORDER BY 2 DESC, 1 LIMIT 3;
SELECT zip, COUNT(*) FROM people GROUP BY zip ORDER BY AVG(age) NULLS FIRST;
SELECT COUNT(*) FROM people LIMIT 0;
SELECT zip, COUNT(*) FROM people GROUP BY zip ORDER BY 2 DESC OFFSET 1 ROW FETCH NEXT 3 ROWS ONLY;
SELECT zip, COUNT(*) FROM people GROUP BY zip ORDER BY 2 DESC FETCH FIRST ROW ONLY;
SELECT COUNT(*) FROM people OFFSET 1;
--- Names of the table
SELECT COUNT(*) FROM people AS p WHERE p.age > 30;
SELECT COUNT(*) FROM people p WHERE P.AGE > 30;
SELECT COUNT(*) FROM "people" WHERE people.age > 30;
--- Scalar subqueries
SELECT COUNT(*) FROM people WHERE income > (SELECT AVG(income) FROM people);
SELECT COUNT(*) - (SELECT COUNT(*) FROM people WHERE age > 30) FROM people;
SELECT SUM(age - (SELECT AVG(age) FROM people)) FROM people;
SELECT COUNT(*) FROM people WHERE age > (SELECT MIN(age) FROM people WHERE age > (SELECT AVG(age) FROM people));
SELECT (SELECT COUNT(*) FROM visits) / COUNT(*) FROM people;
SELECT zip, COUNT(*) FROM people GROUP BY zip HAVING COUNT(*) > (SELECT COUNT(*) / 40 FROM people);
SELECT COUNT(*) FROM people WHERE age > (SELECT (SELECT MAX(age) FROM people) - COUNT(*) FROM people);
--- Space, comments, and EXPLAIN
SELECT
  COUNT(*)  -- how many; people's
FROM people /* all; of /* them */ */
WHERE age >= 40;
SELECT/**/COUNT(*)/**/FROM/**/people;
SELECT COUNT ( * ) FROM people;
EXPLAIN SELECT zip, AVG(income) FROM people GROUP BY zip;
explain select MEDIAN(age) from people;
--- Options of one query
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.5) COUNT(*) FROM people;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1e-2, delta=0) AVG(age) FROM people;
select with differential_privacy options ( EPSILON = .25 ) COUNT(*) from people;
EXPLAIN SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.5) COUNT(*) FROM people;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(noise_index = [1, 10]) COUNT(*), SUM(age) FROM people;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(noise_index=[.5,1e3 , 7], epsilon=0.3) COUNT(*), SUM(age), COUNT(name) FROM people;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(noise_index = [2, 1]) SUM(age) / COUNT(*) FROM people;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(error = 100) COUNT(*) FROM people WHERE age > 30;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(error = 25.5, confidence = 0.99) zip, COUNT(*), COUNT(DISTINCT name) FROM people GROUP BY zip;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(confidence = .9, ERROR = +5e6) SUM(income) FROM people;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(relative_error = 0.1) COUNT(*) FROM people;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(relative_error = 0.2, epsilon = 3) zip, SUM(income) AS total FROM people GROUP BY zip ORDER BY total DESC LIMIT 3;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(relative_error = 1e-4, confidence = 0.5) COUNT(*) FROM people WHERE age = 30;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(mechanism = 'laplace', sensitivity = 'global') COUNT(*), MEDIAN(age) FROM people;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(mechanism = 'gaussian', delta = 1e-7) COUNT(*) FROM people;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(mechanism = "gaussian") SUM(income), AVG(income), STDDEV(age), COUNT(DISTINCT name) FROM people;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(Mechanism = Gaussian, epsilon = 0.01) zip, COUNT(*), AVG(age) FROM people GROUP BY zip;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(mechanism = gaussian) AVG(5), STDDEV(5), SUM(0) FROM people;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(mechanism = 'gaussian', error = 500) COUNT(*), SUM(age) FROM people;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(mechanism = 'gaussian') COUNT(*) FROM people WHERE age > (SELECT AVG(age) FROM people);
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(sensitivity = 'smooth') MIN(age), MAX(income), MEDIAN(age), QUANTILE_CONT(net_worth, 0.9) FROM people;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(sensitivity = SMOOTH) zip, MEDIAN(age) FROM people GROUP BY zip;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(sensitivity = 'smooth', mechanism = 'gaussian') MEDIAN(born), MAX(score), COUNT(*), MODE(plan) FROM visits;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(sensitivity = 'smooth') COUNT(*) FROM people WHERE age > (SELECT MEDIAN(age) FROM people);
EXPLAIN SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(relative_error = 0.05) SUM(age) FROM people;
--- The other statements
SHOW BUDGET;
SHOW ALL;
show tables;
DESCRIBE people;
DESC visits;
DESCRIBE "visits";
SET epsilon = 0.5;
SET epsilon = 1e-3;
SET epsilon = 'default';
SET epsilon = default;
SET mechanism = 'gaussian';
SET mechanism = Laplace;
SET sensitivity = 'smooth';
SET sensitivity = global;
SET repeats = 'fresh';
set REPEATS = FREE;

--- The spellings of other systems
SELECT SUM(age > 30) FROM people;
SELECT AVG(member) FROM visits;
SELECT COUNT_IF(member) FROM visits;
SELECT VAR(points), STD(points), STDEV(points) FROM visits;
SELECT TOP 3 grade, COUNT(*) FROM visits GROUP BY grade ORDER BY 2 DESC;
SELECT COUNT(`odd name`) FROM main.visits WHERE member = 1;
SELECT COUNT(*) FROM public.people WHERE CAST(name AS VARCHAR(4)) = 'Abel';
SELECT AVG(CAST(income AS DECIMAL(18, 0))) FROM people;

--- Functions of numbers, texts and dates
SELECT SUM(SQRT(income)), AVG(LN(age + 1)), MAX(POWER(age, 2)) FROM people;
SELECT SQRT(VARIANCE(age)), ROUND(EXP(AVG(LN(income + 1)))) FROM people;
SELECT COUNT(*) FROM people WHERE age IS DISTINCT FROM 3 AND MOD(age, 2) = 1;
SELECT COUNT(*) FROM people WHERE age BETWEEN SYMMETRIC 60 AND 30;
SELECT COUNT(*) FROM people WHERE TRIM(BOTH ' ' FROM LEFT(name, 4)) = 'Abel';
SELECT COUNT(*) FROM people WHERE SPLIT_PART(name, ' ', 2) = 'Woods' OR STARTS_WITH(name, 'A');
SELECT COUNT(*) FROM people WHERE STRPTIME(name, '%d.%m.%Y %H:%M') > '2020-01-01' OR TRY_STRPTIME(name, '%Y%m%d') IS NULL;
SELECT MEDIAN(PARSE_DATE('%m/%d/%Y', name)) FROM people WHERE PARSE_DATE('%m/%d/%Y', name) > '2020-01-01' AND PARSE_DATE('%m/%d/%Y', name) < '2021-01-01';
SELECT COUNT(*) FROM people WHERE PARSE_TIMESTAMP('%Y-%m-%d', name) < STRPTIME('1/31/2020', '%m/%d/%Y');
SELECT COUNT(DISTINCT REPLACE(name, 'a', 'b')) FROM people WHERE POSITION('x' IN name) > 0;
SELECT COUNT(*) FROM visits WHERE born < DATE '2000-01-01' + INTERVAL '1' DAY;
SELECT COUNT(*) FROM visits WHERE born < DATE '2000-01-01' - INTERVAL '90' DAY (3) + INTERVAL '1' YEAR (2);
SELECT COUNT(*) FROM visits WHERE EXTRACT(YEAR FROM born) = 2000;
SELECT AVG(YEAR(born)), AVG(DATE_DIFF('month', born, seen)) FROM visits;
SELECT COUNT(*) FROM visits WHERE DATE_TRUNC('month', born) = '2000-01-01';
SELECT MEDIAN(DATE_ADD(born, INTERVAL 1 YEAR)) FROM visits WHERE LAST_DAY(born) = born;

--- Keys that are expressions
SELECT FLOOR(age / 10) * 10 AS decade, COUNT(*) FROM people GROUP BY decade ORDER BY decade;
SELECT FLOOR(age / 10) * 10, AVG(income) FROM people GROUP BY FLOOR(age / 10) * 10;
SELECT CASE WHEN age < 30 THEN 'young' WHEN age < 60 THEN 'mid' ELSE 'old' END, COUNT(*)
FROM people GROUP BY 1 HAVING COUNT(*) > 10 ORDER BY 2 DESC;
SELECT age > 30, zip, COUNT(*) FROM people GROUP BY age > 30, zip;
SELECT EXTRACT(YEAR FROM born), MONTH(seen) AS m, COUNT(*) FROM visits WHERE born > '1999-01-01'
GROUP BY EXTRACT(YEAR FROM born), m;
SELECT DATE_TRUNC('quarter', born) + 1, COUNT(*) FROM visits GROUP BY DATE_TRUNC('quarter', born);
SELECT UPPER(plan), COUNT(*) FROM visits GROUP BY UPPER(plan) ORDER BY UPPER(plan);
SELECT ROUND(points, -1), COUNT(*) FROM visits GROUP BY ROUND(points, -1);
SELECT COALESCE(member, FALSE), COUNT(*) FROM visits GROUP BY COALESCE(member, FALSE);

--- SELECTs within FROM and WITH
SELECT COUNT(*) FROM (SELECT * FROM people);
SELECT AVG(y) FROM (SELECT age * 2 AS y, zip FROM people WHERE income > 5) AS t WHERE zip = 31643;
SELECT zip, SUM(y) FROM (SELECT age * 2 AS y, zip FROM people) AS t GROUP BY zip ORDER BY 2 DESC;
SELECT t.b, COUNT(t.a) FROM (SELECT age, zip FROM people) AS t(a, b) GROUP BY t.b;
SELECT COUNT(DISTINCT first) FROM (SELECT *, 1 AS one FROM people) AS t(first) WHERE one = 1;
SELECT COUNT(DISTINCT u.name) FROM (SELECT t.* FROM (SELECT name, age FROM people AS t) AS t) u WHERE u.age > 30;
SELECT d, COUNT(*) AS n FROM (SELECT FLOOR(age / 10) * 10 AS d FROM people) GROUP BY d HAVING n > 5 ORDER BY d;
SELECT COUNT(*) FROM (SELECT age, income AS i FROM people ORDER BY 1, i DESC, name) AS t;
SELECT old, COUNT(*) FROM (SELECT age > 60 AS old FROM people) AS t GROUP BY old;
SELECT MEDIAN(y), MAX(y), MODE(m) FROM (SELECT YEAR(born) AS y, plan AS m FROM visits) AS t;
SELECT SUM(low) FROM (SELECT CLAMP(loose, 0, 9) AS low FROM visits) AS t;
SELECT COUNT(*) FROM (SELECT NULL AS nothing, note FROM visits) AS t WHERE nothing = 3 OR note = 'x';
WITH adults AS (SELECT * FROM people WHERE age >= 30) SELECT COUNT(*) FROM adults;
WITH adults AS (SELECT * FROM people WHERE age >= 30),
     rich AS (SELECT a.income AS i FROM adults AS a WHERE a.income > 100000)
SELECT COUNT(*), AVG(i) FROM rich;
WITH t(a, b) AS MATERIALIZED (SELECT age, zip FROM people) SELECT x.b, AVG(x.a) FROM t AS x GROUP BY x.b;
WITH people AS (SELECT age AS years FROM people WHERE age > 40) SELECT AVG(years) FROM people;
WITH unused AS (SELECT income FROM people) SELECT COUNT(*) FROM visits;
WITH t AS (WITH t AS (SELECT age + 1 AS age FROM people) SELECT age + 1 AS age FROM t) SELECT AVG(age) FROM t;
WITH t AS (SELECT age FROM people) SELECT COUNT(*) FROM t WHERE age > (SELECT AVG(age) FROM t);
WITH t AS (SELECT age - (SELECT AVG(age) FROM people) AS away FROM people) SELECT COUNT(*) FROM t WHERE away > 0;
WITH t AS (SELECT age, (SELECT AVG(income) FROM people) AS unread FROM people) SELECT COUNT(*) FROM t;
WITH t AS (SELECT * FROM people WHERE income > (SELECT AVG(income) FROM people))
SELECT COUNT(*) - (SELECT COUNT(*) FROM t WHERE age > 40) FROM t;
WITH t AS (SELECT age FROM people) SELECT TOP 1 COUNT(*) FROM t;
WITH t AS (SELECT age FROM people)
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.5) COUNT(*), COUNT(*) FILTER (WHERE age > 30) FROM t;
EXPLAIN WITH t AS (SELECT age FROM people) SELECT COUNT(*) FROM t;
SELECT COUNT(*) FROM people WHERE age > (WITH t AS (SELECT age AS a FROM people) SELECT AVG(a) FROM t);
SELECT COUNT(*) FROM /* here */ ( /* and */ SELECT /* there */ age FROM people) AS t;
SELECT COUNT(*) FROM people AS p(who, years) WHERE p.years > 30;
SELECT COUNT(*) FROM people AS p(age, name);

--- Two columns.
SELECT CORR(income, age), COVAR_POP(income, age), COVAR_SAMP(income, age), REGR_SLOPE(income, age) FROM people;
SELECT zip, REGR_INTERCEPT(income, age), REGR_R2(income, age) FROM people GROUP BY zip HAVING REGR_COUNT(income, age) > 3;
SELECT REGR_AVGX(points, score), REGR_AVGY(points, score), REGR_SXX(points, score), REGR_SYY(points, score), REGR_SXY(points, score) FROM visits;
SELECT SKEWNESS(age), CORR(age, income) FILTER (WHERE age > 30) FROM people;
SELECT APPROX_COUNT_DISTINCT(plan), APPROX_QUANTILE(points, 0.9) FROM visits;

--- Subtotals.
SELECT plan, member, COUNT(*), AVG(score), GROUPING(plan, member) AS level FROM visits GROUP BY ROLLUP(plan, member) ORDER BY level DESC, 1, 2 LIMIT 5;
SELECT member, COUNT(*) FROM visits GROUP BY member WITH ROLLUP;
SELECT plan, member, MEDIAN(score) FROM visits GROUP BY GROUPING SETS ((plan, member), (plan), ()) HAVING COUNT(*) > 1;
SELECT UPPER(plan) AS p, member, COUNT(*) FROM visits GROUP BY CUBE(p, 2);
SELECT member, grade, COUNT(*), RANK() OVER (PARTITION BY GROUPING(grade) ORDER BY COUNT(*)) FROM visits GROUP BY member, ROLLUP(grade);
SELECT GROUPING(member), GROUPING_ID(member), COUNT(*) FROM visits GROUP BY member;
SELECT MAX(n) FROM (SELECT plan, COUNT(*) AS n FROM visits GROUP BY CUBE(plan)) AS t WHERE plan IS NULL;

--- Over answers.
SELECT MAX(n), AVG(n), MEDIAN(n), STDDEV(n), COUNT(*) FROM (SELECT zip, COUNT(*) AS n FROM people GROUP BY zip) AS t;
WITH t AS (SELECT zip, AVG(income) AS a FROM people GROUP BY zip) SELECT zip, a FROM t WHERE a > 30000 ORDER BY a DESC LIMIT 3;
SELECT COUNT(*) FROM (SELECT zip FROM people GROUP BY zip HAVING COUNT(*) > 100) AS t;
WITH t AS (SELECT COUNT(*) FROM people) SELECT * FROM t;
WITH t AS (SELECT zip, COUNT(*) AS n FROM people GROUP BY zip), u AS (SELECT n > 200 AS large, zip FROM t) SELECT large, COUNT(*), MIN(zip) FROM u GROUP BY large HAVING COUNT(*) > 1 ORDER BY 1;
WITH t AS (SELECT zip, COUNT(*) AS n FROM people GROUP BY zip) SELECT zip, n / (SELECT SUM(n) FROM t) AS part FROM t WHERE n > (SELECT AVG(n) FROM t);
SELECT DISTINCT n FROM (SELECT zip, COUNT(*) AS n FROM people GROUP BY zip) AS t ORDER BY n;
SELECT COUNT(*) FROM people WHERE age > (SELECT MIN(a) FROM (SELECT zip, AVG(age) AS a FROM people GROUP BY zip) AS t);
WITH t AS (SELECT zip, COUNT(*) AS n FROM people GROUP BY zip) SELECT t.zip, t.n * 100.0 / w.s AS part FROM t CROSS JOIN (SELECT SUM(n) AS s FROM t) AS w ORDER BY part LIMIT 2;
WITH t AS (SELECT zip, COUNT(*) AS n FROM people GROUP BY zip), u AS (SELECT zip, AVG(age) AS a FROM people GROUP BY zip) SELECT zip, n, a FROM t LEFT JOIN u USING (zip) WHERE a > 30;
SELECT COUNT(*) FROM people UNION ALL SELECT COUNT(*) FROM people WHERE age > 40 ORDER BY 1 LIMIT 1;
SELECT zip, COUNT(*) FROM people GROUP BY zip UNION ALL SELECT NULL, COUNT(*) FROM people;
SELECT COUNT(*) FROM people UNION SELECT SUM(age) FROM people;
SELECT COUNT(*) FROM people QUALIFY ROW_NUMBER() OVER () = 1;
SELECT zip, COUNT(*), RANK() OVER (ORDER BY COUNT(*) DESC) AS place, COUNT(*) * 100.0 / SUM(COUNT(*)) OVER () FROM people GROUP BY zip ORDER BY place LIMIT 3;
SELECT zip, COUNT(*) AS n, LAG(COUNT(*), 2, 0) OVER (ORDER BY zip), AVG(COUNT(*)) OVER (ORDER BY zip ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM people GROUP BY zip QUALIFY NTILE(4) OVER (ORDER BY n) = 1;
SELECT COUNT(*) FROM people WINDOW w AS ();

--- Other systems' names, GROUP BY ALL and ORDER BY ALL.
SELECT IFF(points > 50, 'many', 'few') AS size, COUNT(*) FROM visits GROUP BY size;
SELECT SUM(NVL(points, 0)), SUM(IFNULL(points, 0)), SUM(ZEROIFNULL(points)), AVG(NULLIFZERO(points)) FROM visits;
SELECT NVL2(plan, 'known', 'unknown') AS k, COUNT(*) FROM visits GROUP BY ALL;
SELECT DECODE(plan, 'gold', 2, 'basic', 1, NULL, 0, -1) AS rank, COUNT(*) FROM visits GROUP BY rank;
SELECT COUNT(*) FROM visits WHERE EQUAL_NULL(grade, floor) OR DECODE(grade, floor, TRUE);
SELECT plan, member, COUNT(*), 1, AVG(points) + 1 FROM visits GROUP BY ALL ORDER BY ALL DESC LIMIT 3;
SELECT COUNT(*) FROM visits GROUP BY ALL;
SELECT UPPER(plan), MEDIAN(points) FROM visits GROUP BY ALL HAVING COUNT(*) > 3 ORDER BY ALL;
SELECT n > 30, COUNT(*) FROM (SELECT plan, COUNT(*) AS n FROM visits GROUP BY ALL) AS t GROUP BY ALL ORDER BY ALL;

--- Without FROM.
SELECT (SELECT COUNT(*) FROM visits WHERE plan = 'gold') / (SELECT COUNT(*) FROM visits);
SELECT (SELECT SUM(points) FROM visits) AS total, total * 2, 'points', (SELECT AVG(n) FROM (SELECT plan, COUNT(*) AS n FROM visits GROUP BY plan) AS t) - 1;
WITH t AS (SELECT plan, COUNT(*) AS n FROM visits GROUP BY plan) SELECT (SELECT MAX(n) FROM t) / (SELECT SUM(n) FROM t) AS part;
SELECT 'all', (SELECT COUNT(*) FROM visits) UNION ALL SELECT plan, COUNT(*) FROM visits GROUP BY plan;
SELECT COUNT(*) FROM visits WHERE points > (SELECT (SELECT AVG(points) FROM visits) * 1.5);

--- What hints say to write instead of lists.
SELECT MIN(DISTINCT points), MAX(DISTINCT points) FROM visits;
SELECT SUM(DISTINCT points), AVG(DISTINCT points + grade) FILTER (WHERE member) FROM visits;
SELECT SUM(DISTINCT member), SUM(DISTINCT CASE WHEN points > 9 THEN 1 ELSE 0 END) FROM visits;
SELECT plan, SUM(DISTINCT points) / COUNT(DISTINCT points) FROM visits GROUP BY plan;
SELECT APPROX_QUANTILES(points, 4) AS q FROM visits;
SELECT plan, QUANTILE_CONT(points, [0.25, 0.5, 0.75]), COUNT(*) FROM visits GROUP BY plan ORDER BY "QUANTILE_CONT(points, [0.25, 0.5, 0.75])[0.5]";
SELECT APPROX_QUANTILES(points, 100)[OFFSET(90)] - APPROX_QUANTILES(points, 100)[OFFSET(10)] AS spread FROM visits;
SELECT PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY points), QUANTILE_DISC(points, 0.5), APPROX_PERCENTILE(points, 0.9) FROM visits;
SELECT PERCENTILE_CONT(ARRAY[0.1, 0.9]) WITHIN GROUP (ORDER BY points) FILTER (WHERE member) AS p FROM visits;
SELECT HISTOGRAM(points, [10, 20, 50]) AS h, HISTOGRAM(loose, [-1, 0, 1.5]) FILTER (WHERE member) FROM visits;
SELECT APPROX_TOP_COUNT(plan, 2) FROM visits;
SELECT HISTOGRAM(plan) AS h FROM visits WHERE member OR points > 3;
SELECT APPROX_TOP_SUM(plan, points, 1) AS top FROM visits WHERE member;
SELECT APPROX_TOP_K(plan) FROM visits;
SELECT WIDTH_BUCKET(points, 0, 100, 4) AS quarter, COUNT(*), AVG(points) FROM visits GROUP BY quarter;
SELECT ANON_QUANTILES(points, 4 CLAMPED BETWEEN 0 AND 100) FROM visits;
SELECT SUM(DISTINCT n), AVG(DISTINCT n) FROM (SELECT plan, COUNT(*) AS n FROM visits GROUP BY plan) AS t;
SELECT MIN(points), QUANTILE_CONT(points, 0.333333), QUANTILE_CONT(points, 0.666667), MAX(points) FROM visits;
SELECT plan, COUNT(*) AS n FROM visits GROUP BY plan ORDER BY n DESC LIMIT 2;
SELECT FLOOR(points / 10) * 10 AS bin, COUNT(*) FROM visits GROUP BY bin;


--- UNION ALL of rows.
SELECT COUNT(*), SUM(age) FROM (SELECT age FROM people WHERE age > 40 UNION ALL SELECT income / 1000 FROM people) AS t;
WITH t AS (SELECT plan AS k, points AS v FROM visits WHERE member UNION ALL SELECT 'other', score FROM visits UNION ALL SELECT NULL, 7 FROM visits) SELECT k, COUNT(*), AVG(v), MEDIAN(v) FROM t GROUP BY k;
SELECT COUNT(DISTINCT born), COUNT(member) FROM (SELECT born, member FROM visits UNION ALL (SELECT born + 1, points > 50 FROM visits)) AS t WHERE born > '1970-01-01';

--- Timestamps
SELECT COUNT(*), COUNT(arrived), COUNT(DISTINCT arrived), COUNT(logged) FROM visits WHERE arrived >= TIMESTAMP '2024-02-01 00:00:00';
SELECT MIN(arrived), MAX(arrived), AVG(arrived), MEDIAN(departed), QUANTILE_CONT(departed, 0.9), MIN(logged), MAX(logged) FROM visits;
SELECT DATE_TRUNC('month', arrived) AS month, COUNT(*), AVG(points) FROM visits GROUP BY month ORDER BY month DESC;
SELECT DATE_TRUNC('hour', arrived) AS hour, COUNT(*) FROM visits WHERE arrived BETWEEN '2024-02-01' AND '2024-02-02 12:30' GROUP BY hour;
SELECT EXTRACT(HOUR FROM arrived) AS hour, COUNT(*) FROM visits GROUP BY 1 ORDER BY 2 DESC LIMIT 3;
SELECT DAYOFWEEK(arrived) AS day, HOUR(arrived) < 12 AS morning, COUNT(*) FROM visits GROUP BY ALL;
SELECT CAST(arrived AS DATE) AS day, COUNT(*) FROM visits WHERE arrived < DATE '2024-01-08' GROUP BY day;
SELECT arrived::DATE AS day, COUNT(*) FROM visits WHERE arrived::DATE IN ('2024-01-01', '2024-01-31') GROUP BY day;
SELECT LEFT(CAST(DATE_TRUNC('month', arrived) AS TEXT), 7) AS month, COUNT(*) FROM visits GROUP BY month;
SELECT AVG(DATE_DIFF('minute', arrived, departed)), AVG(TIMESTAMP_DIFF(departed, arrived, HOUR)), AVG(EXTRACT(EPOCH FROM departed - arrived) / 3600) FROM visits;
SELECT MAX(arrived + INTERVAL '90 minutes'), MIN(TIMESTAMP_SUB(arrived, INTERVAL 1 MONTH)), MAX(DATETIME_ADD(arrived, INTERVAL 2 WEEK)) FROM visits;
SELECT COUNT(*) FROM visits WHERE TIMESTAMP_TRUNC(arrived, DAY) = TIMESTAMPTZ '2024-01-31 02:00:00+02:00';
SELECT COUNT(*) FROM visits WHERE arrived AT TIME ZONE 'UTC' > born AND departed > seen + INTERVAL 3 HOUR;
SELECT COUNT(*) FROM visits WHERE arrived IN ('2024-01-01 08:30:00', TIMESTAMP '2024-01-31T23:59:59Z') OR arrived IS NULL;
SELECT COUNT(TRY_CAST(note AS TIMESTAMP)), COUNT(SAFE_CAST(seen AS DATETIME)), COUNT(DATE(arrived)), COUNT(TIMESTAMP(seen)) FROM visits;
SELECT MAX(COALESCE(departed, arrived)), MIN(LEAST(arrived, departed)), MAX(CASE WHEN member THEN arrived ELSE '2024-02-01' END) FROM visits;
SELECT AVG(CLAMP(logged, '2024-01-01', '2024-12-31')), AVG(logged) FILTER (WHERE logged BETWEEN '2024-01-01' AND '2025-01-01') FROM visits;
SELECT AVG(UNIX_SECONDS(arrived)), MAX(EPOCH(departed)), MAX(MINUTE(arrived) * 60 + SECOND(arrived)), COUNT(LAST_DAY(arrived)) FROM visits;
SELECT plan, MAX(arrived) AS latest FROM visits GROUP BY plan HAVING MAX(arrived) > '2024-01-15' ORDER BY latest;
SELECT COUNT(*) FROM visits WHERE HOUR(arrived) = 3 OR 'on ' || arrived = 'on 2024-01-01 08:30:00';
SELECT COUNT(*) FROM visits WHERE born < DATE '2000-01-01' + INTERVAL '1' HOUR AND EXTRACT(EPOCH FROM born) > 2000;
SELECT arrived > '2024-02-15' AS late, COUNT(*) FROM visits WHERE YEAR(arrived) = 2024 AND arrived IS NOT DISTINCT FROM arrived GROUP BY late;
SELECT MODE(seen), COUNT(DISTINCT DATE_TRUNC('week', departed)) FROM (SELECT seen, departed FROM visits UNION ALL SELECT seen, arrived FROM visits) AS t;
SELECT MIN(first), COUNT(*) FROM (SELECT DATE_TRUNC('month', arrived) AS first, COUNT(*) AS n FROM visits GROUP BY 1) AS t WHERE n > 0;
SELECT COUNT(*) FROM visits WHERE IFF(member, TRUE);
SELECT AVG(ATAN(age, 2)) FROM people;
FROM people SELECT COUNT(*);
FROM people AS p SELECT p.zip, AVG(income) AS mean WHERE age > 30 GROUP BY p.zip HAVING COUNT(*) > 10 ORDER BY mean LIMIT 3;
WITH a AS (FROM people SELECT zip, COUNT(*) AS n GROUP BY zip) FROM a SELECT SUM(n) AS total;
SELECT zip, COUNT(*), FROM people GROUP BY zip;
SELECT COUNT(*) FROM (people) AS p WHERE p.age > 30;
SELECT age // 10 AS decade, COUNT(*) FROM people GROUP BY decade;
SELECT /*+ PARALLEL(4) */ COUNT(*) FROM people /*+ NOLOCK */;
SELECT SUM(income, 0, 100000), MEDIAN(income, 0, 100000), AVG(SAFE.LN(income + 1)) FROM people;
SELECT SUM(SAFE_ADD(age, 1)), SUM(SAFE_SUBTRACT(age, 1)), SUM(SAFE_MULTIPLY(age, 2)), SUM(SAFE_NEGATE(age)) FROM people;
SELECT varPop(age), varSamp(age), stddevPop(age), stddevSamp(age), COVAR(age, income), covarPop(age, income), covarSamp(age, income) FROM people;
SELECT COUNT(*) FROM visits WHERE born < CURRENT_DATE AND born <= TODAY() - INTERVAL 1 DAY;
SELECT MAX(n) FROM (SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.7, max_groups_contributed = 1) zip, COUNT(*) AS n FROM people GROUP BY zip) AS t;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1, max_groups_contributed = NULL) zip, COUNT(*) FROM people GROUP BY zip;
SELECT COUNT(*) FROM (people);
SELECT COUNT(*) FROM (FROM people) AS t;
SELECT AVG(age) FROM (FROM people SELECT age) AS t;
WITH t AS (SELECT age, FROM people) SELECT COUNT(*) FROM t;
SELECT COUNT(DISTINCT (age, zip)), COUNT(DISTINCT (name, income)) FILTER (WHERE age > 30) FROM people;
SELECT ENTROPY(zip), GEOMEAN(age), GEOMETRIC_MEAN(income + 1) FILTER (WHERE age > 30) FROM people;
SELECT MAD(age), MAD(income) FILTER (WHERE age > 30) FROM people WHERE zip = 31643;
SELECT SUM(age, report_format => 'JSON').result.value, COUNT(*) AS n FROM people;
SELECT zip, AVG(age WITH REPORT(FORMAT = "json")).value FROM people GROUP BY zip;
SUMMARIZE people;
PIVOT people ON zip IN (31643, 80127) USING SUM(income), COUNT(*) AS n GROUP BY age // 10;
SELECT * FROM (PIVOT visits ON member USING AVG(points) GROUP BY plan) AS p WHERE plan = 'gold';
WITH p AS (PIVOT visits ON member USING AVG(points) AS mean GROUP BY plan) SELECT plan, TRUE_mean FROM p;
SELECT * FROM visits PIVOT (SUM(points) FOR member IN (TRUE AS yes, FALSE AS no) GROUP BY plan);
SELECT * FROM (SELECT plan, member, points FROM visits) AS v PIVOT (SUM(points) AS total, COUNT(*) AS n FOR member IN (TRUE, FALSE));
PIVOT (SELECT points > 50 AS many, plan, member FROM visits) ON member IN (TRUE) USING COUNT(*);
PIVOT visits ON member USING AVG(points) GROUP BY plan ORDER BY 2 LIMIT 1;
PIVOT (SELECT plan, born < DATE '1990-01-01' AS old, points FROM visits) AS t ON old IN (TRUE, FALSE) USING SUM(points) GROUP BY plan;
SELECT (SELECT n FROM (SELECT COUNT(*) AS n FROM people) AS t) / (SELECT COUNT(*) FROM people WHERE age > 40) AS part;
SELECT COUNT(*), COUNT(DISTINCT p) FROM people, UNNEST(SPLIT(name, ' ')[1:2]) AS p;
SELECT k, AVG(age * k) FROM people AS t CROSS JOIN UNNEST([1, 2]) AS u(k) WHERE t.age > 30 GROUP BY k;
WITH year(a) AS (SELECT age FROM people) SELECT COUNT(length.a) FROM year AS length(a);
--- Constants
SELECT 1 + 1;
SELECT 1 AS one, 'a' AS a UNION ALL SELECT 2, 'b';
SELECT x + 1 AS y FROM UNNEST(ARRAY[1, 2.5]) AS t(x) WHERE x > 1 ORDER BY y DESC;
SELECT COUNT(*) FROM UNNEST([1, 2]);
SELECT x, y FROM UNNEST([1, 2]) AS x CROSS JOIN UNNEST(['a', 'b']) AS y;
SELECT COUNT(*) FROM (VALUES (1)) AS t(x);
SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS t;
WITH t AS (VALUES (1)) SELECT COUNT(*) FROM t;
SELECT COUNT(*) FROM (SELECT 1 AS one) AS t;
SELECT COUNT(*) FROM people WHERE age > (SELECT 1);
SELECT COUNT(*) FROM people WHERE age IN UNNEST([30, 40]);
SELECT g.plan, n, low FROM (SELECT plan, COUNT(*) AS n FROM visits GROUP BY plan) AS g JOIN (VALUES ('gold', 5)) AS v(plan, low) ON g.plan = v.plan;
--- Habits of other systems
SELECT COUNT(*) FROM people WHERE zip = ANY (31643, 80127) OR age = SOME (30) OR age = ANY(ARRAY[31, 32]);
SELECT COUNT(STRPTIME(note, ['%Y-%m-%d', '%m/%d/%Y'])) FROM visits;
