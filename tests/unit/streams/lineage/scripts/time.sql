-- Watermarks and windows of time. Rows whose time is null are in no window: Spark filters by the time.

-- script: a watermark
-- edge: visits.user -> out.user identity
-- edge: visits.ts -> out.* watermark
INSERT INTO out SELECT user FROM visits WATERMARK ts DELAY OF INTERVAL 10 MINUTES;

-- script: a tumbling window
-- edge: visits.ts -> out.start transformation
-- edge: visits.ts -> out.end transformation
-- edge: visits.user -> out.user identity
-- edge: visits.ts -> out.* watermark
-- edge: visits.ts -> out.* filter
-- edge: visits.ts -> out.* group_by
-- edge: visits.user -> out.* group_by
INSERT INTO out SELECT window.start AS start, window.end AS end, user, count(*) AS c
FROM visits WATERMARK ts DELAY OF INTERVAL 10 MINUTES GROUP BY window(ts, '1 minute'), user;

-- script: a tumbling window without a watermark, as a struct
-- edge: clicks.ts -> out.w transformation
-- edge: clicks.cost -> out.s aggregation
-- edge: clicks.ts -> out.* filter
-- edge: clicks.ts -> out.* group_by
INSERT INTO out SELECT window(ts, '1 hour') AS w, sum(cost) AS s FROM clicks GROUP BY window(ts, '1 hour');

-- script: a sliding window
-- edge: visits.ts -> out.start transformation
-- edge: visits.n -> out.s aggregation
-- edge: visits.ts -> out.* watermark
-- edge: visits.ts -> out.* filter
-- edge: visits.ts -> out.* group_by
INSERT INTO out SELECT window.start AS start, sum(n) AS s
FROM visits WATERMARK ts DELAY OF INTERVAL 1 HOUR GROUP BY window(ts, '10 minutes', '5 minutes');

-- script: a session window
-- edge: visits.ts -> out.start transformation
-- edge: visits.ts -> out.end transformation
-- edge: visits.user -> out.user identity
-- edge: visits.ts -> out.* watermark
-- edge: visits.ts -> out.* filter
-- edge: visits.ts -> out.* group_by
-- edge: visits.user -> out.* group_by
INSERT INTO out SELECT session_window.start AS start, session_window.end AS end, user, count(*) AS c
FROM visits WATERMARK ts DELAY OF INTERVAL 10 MINUTES GROUP BY session_window(ts, '5 minutes'), user;

-- script: a session window whose gap is a column's
-- edge: clicks.user -> out.user identity
-- edge: clicks.ts -> out.start transformation
-- edge: clicks.ts -> out.* filter
-- edge: clicks.ad -> out.* filter
-- edge: clicks.ts -> out.* group_by
-- edge: clicks.ad -> out.* group_by
-- edge: clicks.user -> out.* group_by
INSERT INTO out SELECT user, session_window.start AS start, count(*) AS c
FROM clicks GROUP BY user, session_window(ts, CASE WHEN ad = 'slow' THEN '10 minutes' ELSE '1 minute' END);

-- script: windows of windows
-- edge: visits.ts -> out.hour transformation
-- edge: visits.ts -> out.* watermark
-- edge: visits.ts -> out.* filter
-- edge: visits.ts -> out.* group_by
-- edge: visits.user -> out.* group_by
-- reads: visits.n
INSERT INTO out SELECT window(window_time(w), '1 hour').start AS hour, count(*) AS c
FROM (SELECT window(ts, '1 minute') AS w, user, sum(n) AS s FROM visits WATERMARK ts DELAY OF INTERVAL 1 HOUR GROUP BY window(ts, '1 minute'), user)
GROUP BY window(window_time(w), '1 hour');

-- script: duplicates dropped by two columns
-- then: dropDuplicates user page
-- edge: visits.user -> out.user identity
-- edge: visits.n -> out.n identity
-- edge: visits.page -> out.page identity
-- edge: visits.user -> out.* group_by
-- edge: visits.page -> out.* group_by
INSERT INTO out SELECT user, page, n FROM visits;

-- script: duplicates dropped within a watermark
-- then: dropDuplicatesWithinWatermark user
-- edge: visits.user -> out.user identity
-- edge: visits.ts -> out.ts identity
-- edge: visits.ts -> out.* watermark
-- edge: visits.user -> out.* group_by
INSERT INTO out SELECT user, ts FROM visits WATERMARK ts DELAY OF INTERVAL 10 MINUTES;

-- script: rows given to a function of Python
-- then: mapInPandas
-- edge: clicks.user -> out.user transformation
-- edge: clicks.ad -> out.user transformation
-- edge: clicks.user -> out.* filter
-- edge: clicks.ad -> out.* filter
INSERT INTO out SELECT user, ad FROM clicks;

-- script: state kept by a class of Python
-- then: transformWithState user
-- edge: clicks.user -> out.user transformation
-- edge: clicks.ad -> out.user transformation
-- edge: clicks.user -> out.* filter
-- edge: clicks.ad -> out.* filter
-- edge: clicks.user -> out.* group_by
INSERT INTO out SELECT user, ad FROM clicks;

-- script: a window function over a table
-- edge: cities.city -> out.city identity
-- edge: cities.country -> out.r window
-- edge: cities.pop -> out.r window
INSERT INTO out SELECT city, row_number() OVER (PARTITION BY country ORDER BY pop DESC) AS r FROM cities;

-- script: a rank and a sum over a window
-- edge: cities.country -> out.k window
-- edge: cities.pop -> out.k window
-- edge: cities.pop -> out.share aggregation
-- edge: cities.pop -> out.share transformation
-- edge: cities.country -> out.share window
INSERT INTO out SELECT rank() OVER (PARTITION BY country ORDER BY pop) AS k, pop / sum(pop) OVER (PARTITION BY country) AS share FROM cities;

-- script: the row before
-- edge: cities.city -> out.before transformation
-- edge: cities.pop -> out.before window
INSERT INTO out SELECT lag(city) OVER (ORDER BY pop) AS before FROM cities;

-- script: the first of each group
-- edge: cities.city -> out.city identity
-- edge: cities.country -> out.* filter
-- edge: cities.pop -> out.* filter
INSERT INTO out SELECT city FROM (SELECT city, row_number() OVER (PARTITION BY country ORDER BY pop DESC) AS r FROM cities) WHERE r = 1;
