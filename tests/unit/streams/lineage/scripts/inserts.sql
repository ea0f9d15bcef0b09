-- Inserts: columns by position, by list and by name; several of one script.

-- script: a list of columns
-- edge: visits.user -> out.visitor identity
-- edge: visits.page -> out.url identity
INSERT INTO out (visitor, url) SELECT user, page FROM visits;

-- script: a list of columns in another order than the query's names
-- edge: visits.user -> out.page identity
-- edge: visits.page -> out.user identity
INSERT INTO out (page, user) SELECT user, page FROM visits;

-- script: by name
-- edge: visits.page -> out.page identity
-- edge: visits.user -> out.user identity
INSERT INTO out BY NAME SELECT page, user FROM visits;

-- script: two inserts of one table into two
-- edge: visits.user -> people.user identity
-- edge: visits.page -> pages.page identity
INSERT INTO people SELECT user FROM visits;
INSERT INTO pages SELECT page FROM visits;

-- script: two inserts into one table
-- edge: visits.user -> out.user identity
-- edge: clicks.user -> out.user identity
INSERT INTO out SELECT user FROM visits;
INSERT INTO out SELECT user FROM clicks;

-- script: a chain over a table between
-- edge: visits.user -> clicks.user identity
-- edge: visits.page -> clicks.ad transformation
-- edge: clicks.ad -> out.ad identity
INSERT INTO clicks (user, ad) SELECT user, lower(page) FROM visits;
INSERT INTO out SELECT ad FROM clicks;

-- script: values alone
INSERT INTO out VALUES (1, 'a'), (2, 'b');

-- script: a range has no table
INSERT INTO out SELECT id * 2 AS id FROM range(3);
