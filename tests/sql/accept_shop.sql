--- Joins of several tables
SELECT COUNT(*) FROM customers c JOIN orders o ON o.customer_id = c.id;
SELECT c.segment, SUM(o.amount) FROM customers AS c JOIN orders AS o ON c.id = o.customer_id GROUP BY c.segment;
SELECT COUNT(*) FROM orders AS o, customers AS c WHERE o.customer_id = c.id AND c.segment = 'trade';
SELECT o.channel, AVG(l.price) FROM lines AS l JOIN orders AS o ON l.order_id = o.id GROUP BY o.channel;
SELECT c.segment, p.category, COUNT(*)
FROM customers c JOIN orders o ON o.customer_id = c.id JOIN lines l ON l.order_id = o.id
JOIN products p ON p.id = l.product WHERE p.price > 20 GROUP BY c.segment, p.category;
SELECT COUNT(*) FROM orders AS a JOIN orders AS b ON a.customer_id = b.customer_id AND a.day < b.day;
SELECT COUNT(*) FROM orders AS o JOIN returns AS r ON r.order_id = o.id;
SELECT COUNT(*) FROM orders JOIN returns USING (customer_id);
SELECT COUNT(*) FROM customers AS c RIGHT JOIN orders AS o ON o.customer_id = c.id;
SELECT COUNT(*), COUNT(o.id) FROM customers AS c FULL JOIN orders AS o ON o.customer_id = c.id;
WITH web AS (SELECT * FROM orders WHERE channel = 'web')
SELECT c.segment, COUNT(w.id) FROM customers AS c LEFT JOIN web AS w ON w.customer_id = c.id GROUP BY c.segment;
SELECT CORR(o.amount, l.price) FROM orders AS o JOIN lines AS l ON l.order_id = o.id;
SELECT c.segment, r.reason, COUNT(*) FROM customers c JOIN returns r ON r.customer_id = c.id
GROUP BY ROLLUP(c.segment, r.reason);
SELECT COUNT(DISTINCT c.id) FROM customers AS c JOIN orders AS o ON o.customer_id = c.id WHERE o.amount > 100;

--- Public tables
SELECT COUNT(*), AVG(price) FROM products;
SELECT * FROM products;
SELECT name, id FROM regions WHERE id > 2 ORDER BY id DESC LIMIT 3;
SELECT category, MAX(price) FROM products GROUP BY category;
SELECT DISTINCT landscape FROM regions;
SELECT COUNT(*) FROM customers AS c CROSS JOIN regions AS r;
SELECT r.landscape, COUNT(*) FROM customers AS c JOIN regions AS r ON c.region = r.id GROUP BY r.landscape;
SELECT r.name AS place, COUNT(*) FROM customers AS c LEFT JOIN regions AS r ON r.id = c.region
GROUP BY place ORDER BY 2 DESC LIMIT 3;
SELECT p.category, SUM(l.quantity * l.price) FROM lines AS l JOIN products AS p ON p.id = l.product GROUP BY p.category;
SELECT COUNT(*) FROM lines AS l JOIN products AS p ON p.category = 'nothing';
SELECT COUNT(*) FROM lines WHERE product IN (SELECT id FROM products WHERE category = 'kitchen');

--- EXISTS, IN and subqueries about the customer around them
SELECT COUNT(*) FROM customers
WHERE EXISTS (SELECT 1 FROM orders AS o WHERE o.customer_id = customers.id AND o.channel = 'web');
SELECT segment, COUNT(*) FROM customers
WHERE id NOT IN (SELECT customer_id FROM returns WHERE customer_id IS NOT NULL) GROUP BY segment;
SELECT COUNT(*) FROM customers AS c WHERE NOT EXISTS (SELECT * FROM orders WHERE customer_id = c.id);
SELECT COUNT(*) FROM customers AS c WHERE (SELECT COUNT(*) FROM orders AS o WHERE o.customer_id = c.id) > 3;
SELECT AVG((SELECT SUM(amount) FROM orders AS o WHERE o.customer_id = c.id)) FROM customers AS c;
SELECT COUNT(*) FROM customers AS c WHERE born > (SELECT MIN(day) FROM orders AS o WHERE o.amount > 3);

--- A row for each customer
SELECT AVG(n), MEDIAN(n) FROM (SELECT customer_id, COUNT(*) AS n FROM orders GROUP BY customer_id) AS t;
SELECT AVG(total) FROM (SELECT customer_id, SUM(amount) AS total FROM orders GROUP BY customer_id) AS t WHERE total > 100;
SELECT n, COUNT(*) FROM (SELECT customer_id, COUNT(*) AS n FROM orders GROUP BY customer_id HAVING COUNT(*) > 1) AS t
WHERE n < 5 GROUP BY n;
SELECT c.segment, AVG(t.n)
FROM customers AS c JOIN (SELECT customer_id AS id, COUNT(*) AS n FROM orders GROUP BY customer_id) AS t USING (id)
GROUP BY c.segment;
--- Joins with public tables
SELECT r.name, COUNT(*) FROM customers c JOIN regions r ON c.region = r.id GROUP BY r.name;
SELECT landscape, AVG(born) FROM customers, regions WHERE region = regions.id GROUP BY landscape;
SELECT category, SUM(quantity * l.price) FROM lines l JOIN products p ON l.product = p.id GROUP BY category;
SELECT category, SUM(quantity) FROM lines l LEFT JOIN products p ON l.product = p.id WHERE p.price > 20 GROUP BY 1;
SELECT COUNT(*) FROM customers c LEFT JOIN regions r ON c.region = r.id WHERE r.name IS NULL;
SELECT r.name, COUNT(c.id) FROM regions r LEFT JOIN customers c ON c.region = r.id GROUP BY r.name;
SELECT COUNT(*) FROM lines l JOIN products p ON l.product = p.id AND l.price < p.price;
SELECT COUNT(*) FROM lines l JOIN products p ON l.product = p.id JOIN products q ON p.category = q.category WHERE q.name = 'tent';
SELECT a.landscape, COUNT(*) FROM customers c JOIN regions a ON c.region = a.id JOIN regions b ON a.id = b.id GROUP BY a.landscape;
SELECT COUNT(*) FROM customers WHERE region IN (SELECT id FROM regions WHERE landscape = 'coast');
SELECT COUNT(*) FROM customers WHERE region NOT IN (SELECT id FROM regions WHERE landscape = 'coast');
SELECT COUNT(*) FROM lines l WHERE EXISTS (SELECT 1 FROM products p WHERE p.id = l.product AND p.category = 'books');
SELECT COUNT(*) FROM lines l JOIN products p ON l.product = p.id AND p.category = 'books' OR l.product = p.id AND p.category = 'games';
--- Joins of rows of one customer
SELECT segment, COUNT(*), AVG(amount) FROM customers c JOIN orders o ON o.customer_id = c.id GROUP BY segment;
SELECT segment, SUM(amount) FROM customers, orders WHERE customers.id = customer_id GROUP BY segment;
SELECT segment, channel, COUNT(*) FROM customers c INNER JOIN orders o ON c.id = o.customer_id GROUP BY 1, 2;
SELECT channel, SUM(quantity) FROM orders JOIN lines ON orders.id = lines.order_id GROUP BY channel;
SELECT COUNT(*) FROM orders o LEFT JOIN customers c ON o.customer_id = c.id WHERE c.id IS NULL;
SELECT COUNT(*) FROM customers c FULL JOIN orders o ON c.id = o.customer_id;
SELECT COUNT(*) FROM customers c LEFT JOIN orders o ON o.customer_id = c.id AND o.channel = 'web' WHERE o.id IS NULL;
SELECT reason, COUNT(*) FROM returns r JOIN orders o ON r.order_id = o.id WHERE o.channel = 'phone' GROUP BY reason;
SELECT reason, AVG(DATE_DIFF('day', o.day, r.day)) FROM returns r JOIN orders o ON r.order_id = o.id GROUP BY reason;
SELECT COUNT(*) FROM returns r JOIN lines l ON r.order_id = l.order_id;
SELECT COUNT(*) FROM orders a JOIN orders b ON a.customer_id = b.customer_id AND a.day < b.day;
SELECT COUNT(*) FROM orders a JOIN orders b USING (customer_id) WHERE a.channel = 'web' AND b.channel = 'store';
SELECT category, SUM(l.price) FROM customers c JOIN orders o ON c.id = o.customer_id JOIN lines l ON l.order_id = o.id JOIN products p ON p.id = l.product WHERE segment = 'trade' GROUP BY category;
SELECT r.name, SUM(o.amount) FROM customers c, orders o, regions r WHERE c.id = o.customer_id AND c.region = r.id AND o.day >= DATE '2025-01-01' GROUP BY r.name ORDER BY 2 DESC LIMIT 3;
SELECT COUNT(DISTINCT c.id) FROM customers c JOIN orders o ON c.id = o.customer_id WHERE amount > 100;
SELECT COUNT(*) FROM lines a JOIN lines b ON a.order_id = b.order_id WHERE a.product = 1 AND b.product = 2;
SELECT MEDIAN(amount), MIN(o.day), MAX(o.day) FROM customers c JOIN orders o ON c.id = o.customer_id WHERE region = 3;
--- Lookups
SELECT COUNT(*) FROM customers c WHERE EXISTS (SELECT * FROM orders o WHERE o.customer_id = c.id AND channel = 'phone');
SELECT COUNT(*) FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id);
SELECT COUNT(*) FROM customers WHERE id IN (SELECT customer_id FROM returns WHERE reason = 'broken');
SELECT segment, COUNT(*) FROM customers WHERE id NOT IN (SELECT customer_id FROM orders WHERE amount > 50) GROUP BY segment;
SELECT channel, COUNT(*) FROM orders WHERE id IN (SELECT order_id FROM returns) GROUP BY channel;
SELECT COUNT(*) FROM orders o WHERE EXISTS (SELECT 1 FROM lines l WHERE l.order_id = o.id AND l.quantity > 5) AND NOT EXISTS (SELECT 1 FROM returns r WHERE r.order_id = o.id);
SELECT AVG(CASE WHEN EXISTS (SELECT 1 FROM returns r WHERE r.customer_id = c.id) THEN 1 ELSE 0 END) FROM customers c;
SELECT COUNT(*) FROM customers c WHERE (SELECT COUNT(*) FROM orders o WHERE o.customer_id = c.id) >= 3;
SELECT AVG((SELECT SUM(amount) FROM orders o WHERE o.customer_id = c.id)) FROM customers c;
SELECT COUNT(*) FROM orders WHERE amount > (SELECT AVG(amount) FROM orders);
SELECT COUNT(*) FROM customers AS c WHERE EXISTS (SELECT 1 FROM orders AS o JOIN lines AS l ON l.order_id = o.id WHERE o.customer_id = c.id AND l.quantity > 3);
SELECT segment, COUNT(*) FROM customers WHERE id IN (SELECT customer_id FROM orders WHERE id IN (SELECT order_id FROM returns WHERE reason = 'broken')) GROUP BY segment;
SELECT COUNT(*) FROM customers WHERE id NOT IN (SELECT o.customer_id FROM orders o JOIN lines l ON l.order_id = o.id JOIN products p ON p.id = l.product WHERE p.category = 'tools');
SELECT SUM(amount) FROM orders WHERE id IN (SELECT order_id FROM lines WHERE product IN (SELECT id FROM products WHERE price > 20));
SELECT COUNT(*) FROM customers WHERE id IN (SELECT customer_id FROM orders GROUP BY customer_id HAVING COUNT(*) > 3);
SELECT SUM(quantity) FROM lines WHERE product NOT IN (SELECT MIN(id) FROM products GROUP BY category);
SELECT COUNT(DISTINCT customer_id) FROM orders WHERE customer_id IN (SELECT DISTINCT customer_id FROM returns);
SELECT AVG(amount) FROM orders o WHERE o.id NOT IN (SELECT order_id FROM lines GROUP BY order_id HAVING SUM(quantity) > 10);
--- What each customer comes to
SELECT AVG(n) FROM (SELECT customer_id, COUNT(*) AS n FROM orders GROUP BY customer_id) AS t;
SELECT MEDIAN(total), MAX(total) FROM (SELECT customer_id, SUM(amount) AS total FROM orders GROUP BY customer_id) AS t;
SELECT n, COUNT(*) FROM (SELECT customer_id, COUNT(*) AS n FROM orders GROUP BY customer_id) AS t GROUP BY n ORDER BY n;
WITH t AS (SELECT customer_id, SUM(amount) AS total FROM orders WHERE channel = 'web' GROUP BY customer_id) SELECT COUNT(*) FROM t WHERE total > 200;
SELECT segment, AVG(total) FROM customers c JOIN (SELECT customer_id, SUM(amount) AS total FROM orders GROUP BY customer_id) AS t ON t.customer_id = c.id GROUP BY segment;
SELECT AVG(items) FROM (SELECT order_id, SUM(quantity) AS items FROM lines GROUP BY order_id) AS t;
SELECT CASE WHEN n >= 5 THEN 'often' ELSE 'seldom' END AS how, COUNT(*) FROM (SELECT customer_id, COUNT(*) AS n FROM orders GROUP BY customer_id) AS t GROUP BY how;
SELECT COUNT(*) FROM (SELECT customer_id FROM orders GROUP BY customer_id HAVING COUNT(*) > 2) AS t;
SELECT channel, AVG(n) FROM (SELECT customer_id, channel, COUNT(*) AS n FROM orders GROUP BY customer_id, channel) AS t GROUP BY channel;
--- Row by row
WITH web AS (SELECT *, amount / 2 AS half FROM orders WHERE channel = 'web') SELECT AVG(half) FROM web;
SELECT segment, AVG(a) FROM (SELECT segment, amount AS a FROM customers c JOIN orders o ON o.customer_id = c.id) AS t GROUP BY segment;
WITH recent AS (SELECT customer_id, amount FROM orders WHERE day >= DATE '2025-06-01') SELECT segment, SUM(amount) FROM customers c JOIN recent r ON r.customer_id = c.id GROUP BY segment;
SELECT r.name, COUNT(*) FROM customers c JOIN regions r ON r.id = c.region WHERE r.landscape = 'coast' GROUP BY r.name;
SELECT product, SUM(quantity) FROM lines JOIN products p ON p.id = product WHERE category = 'kitchen' GROUP BY product;
--- Answers that are read further
SELECT MAX(n) FROM (SELECT channel, COUNT(*) AS n FROM orders GROUP BY channel) AS t;
WITH t AS (SELECT region, COUNT(*) AS n FROM customers GROUP BY region) SELECT region, n, 100.0 * n / (SELECT SUM(n) FROM t) AS percent FROM t ORDER BY n DESC LIMIT 3;
SELECT a.channel, a.n, b.s FROM (SELECT channel, COUNT(*) AS n FROM orders GROUP BY channel) AS a JOIN (SELECT channel, SUM(amount) AS s FROM orders GROUP BY channel) AS b ON a.channel = b.channel;
SELECT 'orders' AS what, COUNT(*) AS n FROM orders UNION ALL SELECT 'returns', COUNT(*) FROM returns;
SELECT channel FROM orders GROUP BY channel HAVING COUNT(*) > 1000 UNION SELECT segment FROM customers GROUP BY segment;
SELECT r.name, t.n FROM (SELECT region, COUNT(*) AS n FROM customers GROUP BY region) AS t JOIN regions r ON r.id = t.region ORDER BY n DESC LIMIT 3;
SELECT landscape, SUM(n) FROM regions LEFT JOIN (SELECT region, COUNT(*) AS n FROM customers GROUP BY region HAVING COUNT(*) > 100) AS t ON id = region GROUP BY landscape;
WITH t AS (SELECT product, SUM(quantity) AS q FROM lines GROUP BY product) SELECT p.name, p.price * t.q AS worth FROM products p JOIN t ON t.product = p.id WHERE t.q > (SELECT AVG(q) FROM t);
SELECT landscape, COUNT(*) FROM regions GROUP BY landscape UNION ALL SELECT segment, COUNT(*) FROM customers GROUP BY segment;
--- Windows over answers
SELECT channel, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS place FROM orders GROUP BY channel;
SELECT DATE_TRUNC('month', day) AS month, SUM(amount), LAG(SUM(amount)) OVER (ORDER BY DATE_TRUNC('month', day)) FROM orders GROUP BY month;
SELECT segment, channel, COUNT(*) AS n FROM customers c JOIN orders o ON c.id = o.customer_id GROUP BY segment, channel QUALIFY ROW_NUMBER() OVER (PARTITION BY segment ORDER BY COUNT(*) DESC) = 1;
SELECT region, 100 * COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM customers GROUP BY region;
--- Windows over the rows of a customer
SELECT AVG(amount - before) FROM (SELECT amount, LAG(amount) OVER (PARTITION BY customer_id ORDER BY day) AS before FROM orders) AS t;
SELECT channel, next, COUNT(*) FROM (SELECT channel, LEAD(channel, 1, 'none') OVER (PARTITION BY customer_id ORDER BY day) AS next FROM orders) AS t GROUP BY channel, next;
SELECT AVG(amount) FROM (SELECT amount FROM orders QUALIFY ROW_NUMBER() OVER (PARTITION BY customer_id ORDER BY day) = 1) AS t;
SELECT MEDIAN(days) FROM (SELECT DATE_DIFF(day, LAG(day) OVER (PARTITION BY customer_id ORDER BY day), DAY) AS days FROM orders) AS t WHERE days >= 0;
WITH t AS (SELECT day, SUM(amount) OVER (PARTITION BY customer_id ORDER BY day ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS so_far FROM orders) SELECT YEAR(day), AVG(so_far) FROM t GROUP BY YEAR(day);
SELECT first, COUNT(*) FROM (SELECT id, FIRST_VALUE(channel) OVER w AS first FROM orders WINDOW w AS (PARTITION BY customer_id ORDER BY day)) AS t GROUP BY first;
SELECT segment, AVG(CLAMP(share, 0, 1)) FROM (SELECT segment, amount / NULLIF(SUM(amount) OVER (PARTITION BY customer_id), 0) AS share FROM customers c JOIN orders o ON o.customer_id = c.id) AS t GROUP BY segment;
SELECT AVG(m) FROM (SELECT AVG(amount) OVER (PARTITION BY customer_id ORDER BY day ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS m FROM orders) AS t;
--- Subtotals
SELECT segment, channel, COUNT(*) FROM customers c JOIN orders o ON c.id = o.customer_id GROUP BY ROLLUP(segment, channel);
SELECT reason, YEAR(day), COUNT(*), GROUPING(reason) FROM returns GROUP BY CUBE(reason, YEAR(day));
SELECT category, product, SUM(quantity) FROM lines JOIN products p ON p.id = product GROUP BY GROUPING SETS ((category), (product), ());
--- Keys that are found, and DISTINCT
SELECT name, COUNT(*) FROM customers GROUP BY name;
SELECT DISTINCT name FROM customers;
SELECT LEFT(name, 1), COUNT(*) FROM customers GROUP BY 1 ORDER BY 2 DESC LIMIT 5;
SELECT LOWER(name), segment, COUNT(*) FROM customers GROUP BY 1, 2;
SELECT c.name, SUM(amount) FROM customers c JOIN orders o ON c.id = o.customer_id GROUP BY c.name;
SELECT DISTINCT segment, region FROM customers;
SELECT COUNT(DISTINCT name), COUNT(DISTINCT region) FROM customers;
SELECT COUNT(DISTINCT customer_id) FROM orders WHERE channel = 'store';
SELECT product, COUNT(DISTINCT order_id) FROM lines GROUP BY product;
--- Public tables alone, and beside others
SELECT r.name, p.name FROM regions r, products p WHERE p.price > 20 ORDER BY 1, 2 LIMIT 4;
SELECT name FROM products p WHERE price > (SELECT AVG(price) FROM products) AND id NOT IN (SELECT id FROM regions);
SELECT COUNT(*) FROM customers WHERE region = (SELECT MIN(id) FROM regions);
SELECT SUM(LEAST(amount, (SELECT MAX(price) FROM products))) FROM orders;
SELECT (SELECT COUNT(*) FROM customers) / (SELECT COUNT(*) FROM regions);
SELECT category, COUNT(*), MAX(price) FROM products GROUP BY category;
SELECT category, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) FROM products GROUP BY category;
SELECT COUNT(*) FROM products a JOIN products b ON a.category = b.category AND a.price < b.price;
SELECT MAX(n) FROM (SELECT category, COUNT(*) AS n FROM products GROUP BY category) AS t;
--- What units come to in a group, and different values
SELECT channel, SUM(amount, contribution_bounds_per_group => (0, 200)), COUNT(*, contribution_bounds_per_group => (0, 2)) FROM orders GROUP BY channel;
SELECT AVG(amount, contribution_bounds_per_group => (0, 300)), AVG(amount) FROM orders WHERE channel = 'web';
SELECT ANON_COUNT(product CLAMPED BETWEEN 0 AND 1), ANON_SUM(quantity CLAMPED BETWEEN 0 AND 25) FILTER (WHERE price > 10) FROM lines;
SELECT c.segment, SUM(o.amount, contribution_bounds_per_group => (0, 800)) FROM customers c JOIN orders o ON o.customer_id = c.id GROUP BY c.segment;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_groups_contributed = 1, privacy_unit_column = customer_id) reason, COUNT(*, contribution_bounds_per_group => (0, 2)) FROM returns GROUP BY reason;
SELECT channel, SUM(amount, contribution_bounds_per_group => (0, 200)) AS total FROM orders GROUP BY ROLLUP(channel) HAVING total > 1000 ORDER BY total DESC;
SELECT SUM(customer_id, contribution_bounds_per_group => (0, 200)), COUNTIF(channel = 'web', contribution_bounds_per_group => (0, 2)) FROM orders;
SELECT SUM(DISTINCT quantity), AVG(DISTINCT price) FROM lines WHERE price > 20;
SELECT SUM(DISTINCT price), AVG(DISTINCT price) FROM products;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(group_selection_strategy = PUBLIC_GROUPS) r.id, COUNT(*) FROM customers c RIGHT JOIN (SELECT DISTINCT id FROM regions) r ON r.id = c.region GROUP BY r.id;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_groups_contributed = 1) channel, COUNT(*, report_format => 'JSON') AS n FROM orders GROUP BY channel;
SELECT WITH ANONYMIZATION OPTIONS(epsilon = 0.1) ANON_SUM(amount CLAMPED BETWEEN 0 AND 100 WITH REPORT(FORMAT = "json")) FROM orders;
SELECT DAYNAME(day) AS weekday, COUNT(*) FROM orders GROUP BY weekday;
SELECT STRFTIME('%Y-%m', day) AS month, SUM(amount) FROM orders GROUP BY month ORDER BY month;
SELECT STRFTIME(day, '%Y-%m') AS month, SUM(amount) FROM orders GROUP BY month ORDER BY month;
SELECT LAST_DAY(day) AS month_end, AVG(amount) FROM orders GROUP BY month_end;
SELECT c.segment, COUNT(*) FROM customers c JOIN orders o ON c.id = o.customer_id ANTI JOIN returns r ON r.order_id = o.id AND r.customer_id = c.id GROUP BY c.segment;
SELECT channel, RATIO_TO_REPORT(SUM(amount)) OVER () AS part FROM orders GROUP BY channel;
WITH t AS (SELECT o.channel, c.segment, COUNT(*) AS n FROM customers c JOIN orders o ON o.customer_id = c.id GROUP BY 1, 2) SELECT channel, segment, n FROM t QUALIFY RANK() OVER (PARTITION BY channel ORDER BY n DESC) = 1;
WITH t AS (SELECT p.category, p.name, SUM(l.quantity) AS units FROM lines l JOIN products p ON l.product = p.id GROUP BY p.category, p.name) SELECT category, name, units FROM t QUALIFY ROW_NUMBER() OVER (PARTITION BY category ORDER BY units DESC) = 1;
SELECT c.region, r.name, o.channel, COUNT(*) AS n FROM customers c JOIN regions r ON c.region = r.id JOIN orders o ON o.customer_id = c.id GROUP BY 1, 2, 3 HAVING COUNT(*) > 5 ORDER BY n DESC LIMIT 5;
SELECT c.region, r.name, COUNT(*) AS n FROM customers c LEFT JOIN regions r ON c.region = r.id GROUP BY c.region, r.name;
--- Joins in parentheses
SELECT segment, COUNT(*) FROM (customers AS c JOIN orders AS o ON o.customer_id = c.id) GROUP BY segment;
SELECT landscape, COUNT(*) FROM (customers AS c JOIN orders AS o ON o.customer_id = c.id) JOIN regions AS r ON r.id = c.region GROUP BY landscape;
SELECT segment, SUM(amount) FROM (customers AS c JOIN orders AS o ON o.customer_id = c.id) AS q GROUP BY segment;
SELECT landscape, COUNT(*) FROM ((customers AS c JOIN orders AS o ON o.customer_id = c.id) JOIN regions AS r ON r.id = c.region) GROUP BY landscape;
SELECT * FROM ((SELECT segment, COUNT(*) AS n FROM customers GROUP BY segment) AS a JOIN (SELECT segment, COUNT(region) AS m FROM customers GROUP BY segment) AS b ON a.segment = b.segment);
SELECT AVG(n) FROM (SELECT customer_id, channel, COUNT(*) AS n, GROUPING(channel) AS g FROM orders GROUP BY customer_id, channel) AS t WHERE g = 0;
SELECT COUNT(*) FROM customers WHERE id = ANY (SELECT customer_id FROM orders WHERE amount > 50);
