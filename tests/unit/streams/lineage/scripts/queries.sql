-- Queries inside queries: subqueries, common table expressions, views.

-- script: a scalar subquery as a value
-- edge: visits.user -> out.user identity
-- edge: cities.pop -> out.most aggregation
INSERT INTO out SELECT user, (SELECT max(pop) FROM cities) AS most FROM visits;

-- script: a scalar subquery with a condition as a value
-- edge: visits.user -> out.user identity
-- edge: cities.pop -> out.most aggregation
-- edge: cities.country -> out.most filter
INSERT INTO out SELECT user, (SELECT max(pop) FROM cities WHERE country = 'de') AS most FROM visits;

-- script: a correlated scalar subquery
-- edge: visits.user -> out.user identity
-- edge: cities.pop -> out.most aggregation
-- edge: cities.country -> out.most filter
-- edge: visits.page -> out.most filter
INSERT INTO out SELECT user, (SELECT max(c.pop) FROM cities c WHERE c.country = v.page) AS most FROM visits v;

-- script: a scalar subquery in a condition
-- edge: visits.user -> out.user identity
-- edge: visits.n -> out.* filter
-- edge: users.id -> out.* filter
INSERT INTO out SELECT user FROM visits WHERE n = (SELECT max(id) FROM users);

-- script: IN a subquery
-- edge: visits.user -> out.user identity
-- edge: visits.page -> out.* filter
-- edge: cities.city -> out.* filter
-- edge: cities.pop -> out.* filter
INSERT INTO out SELECT user FROM visits WHERE page IN (SELECT city FROM cities WHERE pop > 10);

-- script: NOT IN a subquery of two columns
-- edge: visits.user -> out.user identity
-- edge: visits.user -> out.* filter
-- edge: visits.n -> out.* filter
-- edge: users.name -> out.* filter
-- edge: users.id -> out.* filter
INSERT INTO out SELECT user FROM visits WHERE (user, n) NOT IN (SELECT name, id FROM users);

-- script: EXISTS
-- edge: visits.user -> out.user identity
-- edge: visits.page -> out.* filter
-- edge: cities.country -> out.* filter
INSERT INTO out SELECT user FROM visits v WHERE EXISTS (SELECT 1 FROM cities c WHERE c.country = v.page);

-- script: EXISTS that selects a column of which nothing depends
-- edge: visits.user -> out.user identity
-- edge: visits.page -> out.* filter
-- edge: cities.country -> out.* filter
-- reads: cities.pop
INSERT INTO out SELECT user FROM visits v WHERE EXISTS (SELECT c.pop FROM cities c WHERE c.country = v.page);

-- script: IN as a value
-- edge: visits.page -> out.known transformation
-- edge: cities.city -> out.known transformation
INSERT INTO out SELECT page IN (SELECT city FROM cities) AS known FROM visits;

-- script: a common table expression
-- edge: visits.user -> out.user identity
-- edge: visits.n -> out.* filter
-- reads: visits.page
INSERT INTO out WITH c AS (SELECT user, page FROM visits WHERE n > 1) SELECT user FROM c;

-- script: a common table expression twice
-- edge: visits.user -> out.user identity
-- edge: visits.ts -> out.ts identity
-- edge: visits.user -> out.* join
INSERT INTO out WITH c AS (SELECT user, ts FROM visits) SELECT a.user, b.ts FROM c a JOIN c b ON a.user = b.user;

-- script: a common table expression of another one
-- edge: visits.user -> out.u transformation
-- edge: visits.n -> out.s aggregation
-- edge: visits.user -> out.* group_by
INSERT INTO out WITH a AS (SELECT upper(user) AS u, n FROM visits), b AS (SELECT u, sum(n) AS s FROM a GROUP BY u) SELECT u, s FROM b;

-- script: a common table expression that hides a table
-- edge: clicks.ad -> out.page identity
INSERT INTO out WITH visits AS (SELECT ad AS page FROM clicks) SELECT page FROM visits;

-- script: a common table expression that nobody uses is read all the same
-- edge: visits.user -> out.user identity
-- reads: clicks.ad
INSERT INTO out WITH unused AS (SELECT ad FROM clicks) SELECT user FROM visits;

-- script: a common table expression in a subquery
-- edge: visits.user -> out.user identity
-- edge: visits.page -> out.* filter
-- edge: cities.city -> out.* filter
INSERT INTO out WITH c AS (SELECT city FROM cities) SELECT user FROM visits WHERE page IN (SELECT city FROM c);

-- script: a recursive query
-- edge: users.id -> out.id identity
-- edge: users.id -> out.id transformation
-- edge: users.id -> out.* filter
INSERT INTO out WITH RECURSIVE r (id) AS (SELECT id FROM users UNION ALL SELECT id + 1 FROM r WHERE id < 5) SELECT id FROM r;

-- script: a view
-- edge: visits.user -> out.user identity
-- edge: visits.page -> out.page transformation
CREATE TEMPORARY VIEW v AS SELECT user, upper(page) AS page FROM visits;
INSERT INTO out SELECT user, page FROM v;

-- script: a view over a view, under other names
-- edge: visits.user -> out.w identity
-- edge: visits.page -> out.q transformation
-- edge: visits.n -> out.* filter
CREATE TEMPORARY VIEW v AS SELECT user AS u, upper(page) AS p FROM visits WHERE n > 0;
CREATE TEMPORARY VIEW v2 (w, q) AS SELECT u, p FROM v;
INSERT INTO out SELECT w, q FROM v2;

-- script: a view with a column that nobody uses
-- edge: visits.user -> out.user identity
-- reads: visits.page
CREATE TEMPORARY VIEW v AS SELECT user, upper(page) AS page FROM visits;
INSERT INTO out SELECT user FROM v;

-- script: a view in two inserts
-- edge: visits.user -> a.user identity
-- edge: visits.n -> a.s aggregation
-- edge: visits.user -> a.* group_by
-- edge: visits.n -> b.s aggregation
-- edge: visits.user -> b.* group_by
CREATE TEMPORARY VIEW v AS SELECT user, sum(n) AS s FROM visits GROUP BY user;
INSERT INTO a SELECT user, s FROM v;
INSERT INTO b SELECT s FROM v;

-- script: aliases of aliases
-- edge: visits.user -> out.z identity
INSERT INTO out SELECT z FROM (SELECT y AS z FROM (SELECT x AS y FROM (SELECT user AS x FROM visits AS q) AS r) AS s) AS t;

-- script: a table of the catalog that no script declares
-- edge: default.rates.rate -> out.rate identity
-- edge: default.rates.code -> out.* filter
INSERT INTO out SELECT rate FROM rates WHERE code = 'eur';

-- script: a table of the catalog as a stream
-- edge: default.ticks.value -> out.value identity
INSERT INTO out SELECT value FROM STREAM(ticks);

-- script: files of the catalog as a stream
-- edge: default.rates.rate -> out.rate identity
INSERT INTO out SELECT rate FROM STREAM(rates);

-- script: a struct through a view
-- edge: visits.value.user.id -> out.id identity
-- edge: visits.value -> out.value identity
CREATE TEMPORARY VIEW v AS SELECT value AS w FROM visits;
INSERT INTO out SELECT w.user.id AS id, w AS value FROM v;

-- script: a common table expression in a view that is read twice
-- edge: users.name -> out.a identity
-- edge: users.name -> out.b transformation
-- edge: users.id -> out.* join
-- edge: users.country -> out.* filter
CREATE TEMPORARY VIEW v AS WITH c AS (SELECT id, name FROM users WHERE country = 'de') SELECT id, name FROM c;
INSERT INTO out SELECT x.name AS a, upper(y.name) AS b FROM v x JOIN v y ON x.id = y.id;

-- script: a subquery inside a subquery, each correlated
-- edge: visits.user -> out.user identity
-- edge: visits.page -> out.* filter
-- edge: visits.n -> out.* filter
-- edge: cities.country -> out.* filter
-- edge: cities.pop -> out.* filter
-- edge: users.country -> out.* filter
-- edge: users.id -> out.* filter
INSERT INTO out SELECT user FROM visits v WHERE EXISTS (
SELECT 1 FROM cities c WHERE c.country = v.page AND c.pop > v.n AND EXISTS (SELECT 1 FROM users u WHERE u.country = c.country AND u.id > c.pop));

-- script: a condition that decides about a value made of a window function
-- edge: cities.city -> out.city identity
-- edge: cities.country -> out.rank conditional
-- edge: cities.pop -> out.rank conditional
INSERT INTO out SELECT city, CASE WHEN r = 1 THEN 'first' ELSE 'other' END AS rank
FROM (SELECT city, row_number() OVER (PARTITION BY country ORDER BY pop) AS r FROM cities);

-- script: rows of a view that is no declared table
-- edge: visits.user -> out.user identity
-- not understood: relation LogicalRDD
INSERT INTO out SELECT v.user, s.x FROM visits v JOIN stray s ON true;

-- script: unique visitors and page views by minute
-- edge: raw.value -> pv.page transformation
-- edge: raw.value -> pv.minute transformation
-- edge: raw.value -> pv.uv aggregation
-- edge: raw.value -> pv.* filter
-- edge: raw.value -> pv.* watermark
-- edge: raw.value -> pv.* group_by
CREATE TEMPORARY VIEW parsed AS
SELECT j.page AS page, j.user AS user, j.ts AS ts FROM (SELECT from_json(value, 'page STRING, user STRING, ts TIMESTAMP') AS j FROM raw) WHERE j IS NOT NULL;
INSERT INTO pv SELECT page, window.start AS minute, count(*) AS pv, approx_count_distinct(user) AS uv
FROM parsed WATERMARK ts DELAY OF INTERVAL 1 MINUTE GROUP BY page, window(ts, '1 minute');
