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
