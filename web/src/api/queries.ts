import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { client, told, type Schemas } from "./client";
import { isOpen } from "../routes/switches";
import type { Lineage } from "../streams/lineage";
import { ProblemError } from "./problem";

/** Pairs come as lists from openapi-fetch: this is what they are. */
const as =
  <T>() =>
  (found: unknown): T =>
    found as T;

/** Queries whose key begins with `live` are asked again when the service has read their cluster. */
const on = (target: string, link: string) => ({ params: { path: { target, link } } });

export const meQuery = queryOptions({
  queryKey: ["me"],
  queryFn: ({ signal }) => told(client.GET("/api/v1/me", { signal })),
  refetchInterval: 15_000,
});

export const waysQuery = queryOptions({
  queryKey: ["ways"],
  queryFn: ({ signal }) => told(client.GET("/api/v1/login/ways", { signal })),
  staleTime: Infinity,
});

export const verbsQuery = queryOptions({
  queryKey: ["verbs"],
  queryFn: ({ signal }) => told(client.GET("/api/v1/verbs", { signal })),
  staleTime: Infinity,
});

export const linksQuery = queryOptions({
  queryKey: ["live", "*", "links"],
  queryFn: ({ signal }) => told(client.GET("/api/v1/links", { signal })).then(as<Schemas["LinksAnswer"]>()),
});

export const clustersQuery = queryOptions({
  queryKey: ["live", "*", "clusters"],
  queryFn: ({ signal }) => told(client.GET("/api/v1/clusters", { signal })),
});

export const linkQuery = (target: string, link: string) =>
  queryOptions({
    queryKey: ["live", target, link],
    queryFn: ({ signal }) => told(client.GET("/api/v1/clusters/{target}/links/{link}", { ...on(target, link), signal })).then(
        as<Schemas["LinkAnswer"]>(),
      ),
  });

export const historyQuery = (target: string, link: string) =>
  queryOptions({
    queryKey: ["history", target, link],
    queryFn: ({ signal }) =>
      told(client.GET("/api/v1/clusters/{target}/links/{link}/history", { ...on(target, link), signal })),
    refetchInterval: 10_000,
    staleTime: 9_000,
  });

export interface LanesAsked {
  text: string;
  state: readonly Schemas["LaneState"][];
  mode: Schemas["LaneMode"] | "";
  sort: Schemas["LaneOrder"];
  descending: boolean;
}

export const EVERY_LANE: LanesAsked = { text: "", state: [], mode: "", sort: "source", descending: false };

export const lanesQuery = (target: string, link: string, asked: LanesAsked, offset: number, limit: number) =>
  queryOptions({
    queryKey: ["live", target, link, "lanes", asked, offset, limit],
    queryFn: ({ signal }) =>
      told(
        client.GET("/api/v1/clusters/{target}/links/{link}/lanes", {
          params: {
            path: { target, link },
            query: {
              offset,
              limit,
              sort: asked.sort,
              descending: asked.descending,
              ...(asked.text ? { text: asked.text } : {}),
              ...(asked.state.length ? { state: [...asked.state] } : {}),
              ...(asked.mode ? { mode: asked.mode } : {}),
            },
          },
          signal,
        }),
      ).then(as<Schemas["LanesPage"]>()),
    gcTime: 30_000,
  });

export const laneQuery = (target: string, link: string, where: string) =>
  queryOptions({
    queryKey: ["live", target, link, "lane", where],
    queryFn: ({ signal }) =>
      told(
        client.GET("/api/v1/clusters/{target}/links/{link}/lanes/{where}", {
          params: { path: { target, link, where } },
          signal,
        }),
      ).then(as<Schemas["LaneAnswer"]>()),
  });

/** Groups are read from both clusters each time they are asked for, so less often. */
const SLOWLY = { staleTime: 5_000, refetchInterval: 20_000 };

export const groupsQuery = (target: string, link: string) =>
  queryOptions({
    queryKey: ["positions", target, link, "groups"],
    queryFn: ({ signal }) =>
      told(client.GET("/api/v1/clusters/{target}/links/{link}/groups", { ...on(target, link), signal })),
    ...SLOWLY,
  });

export const groupQuery = (target: string, link: string, group: string) =>
  queryOptions({
    queryKey: ["positions", target, link, "group", group],
    queryFn: ({ signal }) =>
      told(
        client.GET("/api/v1/clusters/{target}/links/{link}/group", {
          params: { path: { target, link }, query: { group } },
          signal,
        }),
      ),
    ...SLOWLY,
  });

export const movesQuery = (target: string) =>
  queryOptions({
    queryKey: ["positions", target, "moves"],
    queryFn: ({ signal }) =>
      told(client.GET("/api/v1/clusters/{target}/moves", { params: { path: { target } }, signal })),
    ...SLOWLY,
  });

export const rangesQuery = (target: string, link: string, where: string) =>
  queryOptions({
    queryKey: ["positions", target, link, "ranges", where],
    queryFn: ({ signal }) =>
      told(
        client.GET("/api/v1/clusters/{target}/links/{link}/ranges", {
          params: { path: { target, link }, query: { where } },
          signal,
        }),
      ),
    ...SLOWLY,
  });

export const verificationQuery = (target: string, link: string) =>
  queryOptions({
    queryKey: ["positions", target, link, "verification"],
    queryFn: ({ signal }) =>
      told(client.GET("/api/v1/clusters/{target}/links/{link}/verification", { ...on(target, link), signal })).then(
        as<Schemas["VerifyStatus"]>(),
      ),
    staleTime: 2_000,
    refetchInterval: 5_000,
  });

export const processesQuery = (target: string, link: string) =>
  queryOptions({
    queryKey: ["processes", target, link],
    queryFn: ({ signal }) =>
      told(client.GET("/api/v1/clusters/{target}/links/{link}/processes", { ...on(target, link), signal })),
  });

const OPERATIONS = 100;

export const operationsQuery = infiniteQueryOptions({
  queryKey: ["operations", "recent"],
  queryFn: ({ pageParam, signal }) =>
    told(
      client.GET("/api/v1/operations", {
        params: { query: { limit: OPERATIONS, ...(pageParam === null ? {} : { before: pageParam }) } },
        signal,
      }),
    ),
  initialPageParam: null as string | null,
  getNextPageParam: (last) => (last.length < OPERATIONS ? null : (last[last.length - 1]?.id ?? null)),
  placeholderData: keepPreviousData,
});

export const operationQuery = (id: string) =>
  queryOptions({
    queryKey: ["operations", id],
    queryFn: ({ signal }) =>
      told(client.GET("/api/v1/operations/{work_id}", { params: { path: { work_id: id } }, signal })),
    refetchInterval: (query) => (query.state.data?.state === "running" ? 1_000 : false),
  });

export const planQuery = (id: string) =>
  queryOptions({
    queryKey: ["plans", id],
    queryFn: ({ signal }) => told(client.GET("/api/v1/plans/{plan_id}", { params: { path: { plan_id: id } }, signal })),
    refetchInterval: (query) => (query.state.data?.operation == null ? 5_000 : false),
  });

export const accountsQuery = queryOptions({
  queryKey: ["accounts"],
  queryFn: ({ signal }) => told(client.GET("/api/v1/accounts", { signal })),
});

export const tokensQuery = queryOptions({
  queryKey: ["tokens"],
  queryFn: ({ signal }) => told(client.GET("/api/v1/tokens", { signal })),
});

/** Null in place of a problem of this kind. */
const noneAs =
  (kind: string) =>
  (error: unknown): null => {
    if (error instanceof ProblemError && error.problem.type.endsWith(`:${kind}`)) return null;
    throw error;
  };

/** The table that applies; null where none was ever published.  The service tells of a new one. */
export const routesQuery = queryOptions({
  queryKey: ["routes", "newest"],
  queryFn: ({ signal }) => told(client.GET("/api/v1/routes", { signal })).catch(noneAs("no-version")),
  refetchInterval: 15_000,
});

/** Migrations, by name.  The service tells of each step. */
export const migrationsQuery = queryOptions({
  queryKey: ["migrations", "all"],
  queryFn: ({ signal }) => told(client.GET("/api/v1/migrations", { signal })),
  refetchInterval: 5_000,
});

export const migrationQuery = (name: string) =>
  queryOptions({
    queryKey: ["migrations", "one", name],
    queryFn: ({ signal }) => told(client.GET("/api/v1/migrations/{name}", { params: { path: { name } }, signal })),
    refetchInterval: (query) => (query.state.data?.runs.some(({ run }) => run.is_open) ? 2_000 : 5_000),
  });

const VERSIONS = 50;

export const routeVersionsQuery = infiniteQueryOptions({
  queryKey: ["routes", "versions"],
  queryFn: ({ pageParam, signal }) =>
    told(
      client.GET("/api/v1/routes/versions", {
        params: { query: { limit: VERSIONS, ...(pageParam === null ? {} : { before: pageParam }) } },
        signal,
      }),
    ),
  initialPageParam: null as number | null,
  getNextPageParam: (last) => (last.length < VERSIONS ? null : (last[last.length - 1]?.version ?? null)),
  placeholderData: keepPreviousData,
});

/** A version never changes; there is none before the first one, which an empty table stands for. */
export const routeVersionQuery = (version: number) =>
  queryOptions({
    queryKey: ["routes", "version", version],
    queryFn: ({ signal }) =>
      version === 0
        ? null
        : told(client.GET("/api/v1/routes/versions/{version}", { params: { path: { version } }, signal })),
    staleTime: Infinity,
  });

export type RouteQuestion = Schemas["RouteQuestion"];

export const explainQuery = (question: RouteQuestion) =>
  queryOptions({
    queryKey: ["routes", "explain", question],
    queryFn: ({ signal }) =>
      told(client.POST("/api/v1/routes/explain", { body: question, signal })).then(as<Schemas["ExplainedAnswer"]>()),
  });

export interface ClientsAsked {
  code: string;
  group: string;
  cluster: string;
  application: string;
  role: Schemas["ClientRole"] | "";
  behind: boolean;
  offset: number;
}

export const CLIENTS = 100;

/** Switches, the newest first.  The service tells of each step. */
export const switchesQuery = (limit: number) =>
  queryOptions({
    queryKey: ["switches", "newest", limit],
    queryFn: ({ signal }) => told(client.GET("/api/v1/switches", { params: { query: { limit } }, signal })),
    placeholderData: keepPreviousData,
    refetchInterval: 10_000,
  });

export const switchQuery = (id: string) =>
  queryOptions({
    queryKey: ["switches", "one", id],
    queryFn: ({ signal }) => told(client.GET("/api/v1/switches/{switch_id}", { params: { path: { switch_id: id } }, signal })).then(
        as<Schemas["SwitchAnswer"]>(),
      ),
    refetchInterval: (query) => (query.state.data === undefined || isOpen(query.state.data.switch) ? 3_000 : false),
  });

export const clientsQuery = ({ role, behind, offset, ...names }: ClientsAsked) =>
  queryOptions({
    queryKey: ["clients", "page", role, behind, offset, names],
    queryFn: ({ signal }) =>
      told(
        client.GET("/api/v1/clients", {
          params: {
            query: {
              ...Object.fromEntries(Object.entries(names).filter(([, name]) => name !== "")),
              ...(role === "" ? {} : { role }),
              ...(behind ? { behind } : {}),
              offset,
              limit: CLIENTS,
            },
          },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    refetchInterval: 5_000,
  });

export const clientQuery = (id: string) =>
  queryOptions({
    queryKey: ["clients", "one", id],
    queryFn: ({ signal }) => told(client.GET("/api/v1/clients/{client_id}", { params: { path: { client_id: id } }, signal })),
    refetchInterval: 5_000,
  });

/** Streams, by name.  The service tells of each change, and of progress on its own machine. */
export const streamsQuery = queryOptions({
  queryKey: ["streams", "all"],
  queryFn: ({ signal }) => told(client.GET("/api/v1/streams", { signal })).then(as<Schemas["StreamSummary"][]>()),
  refetchInterval: 5_000,
});

export const streamQuery = (name: string) =>
  queryOptions({
    queryKey: ["streams", "one", name],
    queryFn: ({ signal }) =>
      told(client.GET("/api/v1/streams/{name}", { params: { path: { name } }, signal })).then(as<Schemas["StreamAnswer"]>()),
    refetchInterval: 5_000,
  });

/** The checkpoints that were saved of a stream, the newest first. */
export const savedCheckpointsQuery = (name: string) =>
  queryOptions({
    queryKey: ["saved-checkpoints", name],
    queryFn: ({ signal }) =>
      told(client.GET("/api/v1/streams/{name}/checkpoints", { params: { path: { name } }, signal })).then(
        as<Schemas["SavedCheckpointAnswer"][]>(),
      ),
  });

/** The alerts of a stream, or of the link to a target, and its rules.  The service tells of each that begins or ends. */
export const streamAlertsQuery = (name: string, target: string) =>
  queryOptions({
    queryKey: ["streams", "alerts", name, target],
    queryFn: ({ signal }) =>
      told(
        client.GET("/api/v1/streams/{name}/alerts", { params: { path: { name }, query: target ? { target } : {} }, signal }),
      ).then(as<Schemas["StreamAlertsAnswer"]>()),
    refetchInterval: 10_000,
  });

/** Artifacts, by name. */
export const artifactsQuery = queryOptions({
  queryKey: ["artifacts", "all"],
  queryFn: ({ signal }) => told(client.GET("/api/v1/artifacts", { signal })).then(as<Schemas["StoredArtifact"][]>()),
  refetchInterval: 30_000,
});

export const artifactQuery = (name: string) =>
  queryOptions({
    queryKey: ["artifacts", "one", name],
    queryFn: ({ signal }) =>
      told(client.GET("/api/v1/artifacts/{name}", { params: { path: { name } }, signal })).then(as<Schemas["ArtifactAnswer"]>()),
    refetchInterval: 30_000,
  });

/** A version never changes; a stream that is made again under the same name has others, whose key has another time. */
export const streamVersionQuery = (name: string, { number, at_ms: at }: { number: number; at_ms: number }) =>
  queryOptions({
    queryKey: ["stream-versions", name, number, at],
    queryFn: ({ signal }) =>
      told(client.GET("/api/v1/streams/{name}/versions/{number}", { params: { path: { name, number } }, signal })).then(
        as<Schemas["StreamVersionAnswer"]>(),
      ),
    staleTime: Infinity,
  });

export interface LogAsked {
  search: string;
  limit: number;
}

export const streamLogQuery = (name: string, run: string, { search, limit }: LogAsked, isOpen: boolean) =>
  queryOptions({
    queryKey: ["stream-logs", name, run, search, limit],
    queryFn: ({ signal }) =>
      told(
        client.GET("/api/v1/streams/{name}/runs/{run_id}/log", {
          params: { path: { name, run_id: run }, query: { limit, ...(search ? { search } : {}) } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    refetchInterval: isOpen ? 3_000 : false,
  });

/** What one may see of the catalog, by name; with a text in its name, description or columns. */
export const catalogQuery = (search: string) =>
  queryOptions({
    queryKey: ["catalog", "entries", search],
    queryFn: ({ signal }) =>
      told(client.GET("/api/v1/catalog", { params: { query: search ? { search } : {} }, signal })),
    placeholderData: keepPreviousData,
    refetchInterval: 30_000,
  });

/** Catalogs of Spark's own in which one has a privilege. */
export const attachedQuery = queryOptions({
  queryKey: ["catalog", "attached"],
  queryFn: ({ signal }) => told(client.GET("/api/v1/catalog/attached", { signal })),
});

export const catalogEntryQuery = (name: string) =>
  queryOptions({
    queryKey: ["catalog", "entry", name],
    queryFn: ({ signal }) =>
      told(client.GET("/api/v1/catalog/entries/{name}", { params: { path: { name } }, signal })).then(as<Schemas["EntryAnswer"]>()),
  });

export const catalogVersionsQuery = (name: string) =>
  queryOptions({
    queryKey: ["catalog", "versions", name],
    queryFn: ({ signal }) =>
      told(client.GET("/api/v1/catalog/entries/{name}/versions", { params: { path: { name } }, signal })).then(
        as<Schemas["SchemaAnswer"][]>(),
      ),
  });

/** Grants on what one manages, and one's own; of one securable, or all. */
export const grantsQuery = (securable = "") =>
  queryOptions({
    queryKey: ["catalog", "grants", securable],
    queryFn: ({ signal }) =>
      told(client.GET("/api/v1/catalog/grants", { params: { query: securable ? { securable } : {} }, signal })).then(
        as<Schemas["GrantAnswer"][]>(),
      ),
  });

export const groupsOfCatalogQuery = queryOptions({
  queryKey: ["catalog", "groups"],
  queryFn: ({ signal }) => told(client.GET("/api/v1/catalog/groups", { signal })).then(as<Schemas["GroupAnswer"][]>()),
});

/** Who reads a column, written as TABLE.COLUMN, and what breaks without it. */
export const columnLineageQuery = (column: string) =>
  queryOptions({
    queryKey: ["lineage", "column", column],
    queryFn: ({ signal }) =>
      told(client.GET("/api/v1/lineage", { params: { query: { column } }, signal })).then(as<Schemas["ColumnLineageAnswer"]>()),
  });

/** Which columns make which; of the version that runs, or of one. */
export const lineageQuery = (name: string, version: number | null) =>
  queryOptions({
    queryKey: ["lineage", name, version],
    queryFn: ({ signal }) =>
      told(
        client.GET("/api/v1/streams/{name}/lineage", {
          params: { path: { name }, query: version === null ? {} : { version } },
          signal,
        }),
      ).then(as<Lineage>()),
  });
