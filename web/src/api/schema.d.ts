// Made by `npm run api` from the service's OpenAPI; `npm run api:check` says whether it is fresh.

export interface paths {
    "/api/v1/accounts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Accounts
         * @description Every account.
         */
        get: operations["accounts_api_v1_accounts_get"];
        put?: never;
        /**
         * Add
         * @description Make an account.
         */
        post: operations["add_api_v1_accounts_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/accounts/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Change
         * @description Change an account's role, or disable it.
         */
        patch: operations["change_api_v1_accounts__name__patch"];
        trace?: never;
    };
    "/api/v1/alerts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Alerts
         * @description The alerts that fire, of all streams and links.
         */
        get: operations["alerts_api_v1_alerts_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/artifacts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Artifacts
         * @description The artifacts, by name.
         */
        get: operations["artifacts_api_v1_artifacts_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/artifacts/delete/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Forget versions of an artifact that no stream was saved with */
        post: operations["plan_artifacts_delete_api_v1_artifacts_delete_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/artifacts/save/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Save what was uploaded as a version of an artifact */
        post: operations["plan_artifacts_save_api_v1_artifacts_save_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/artifacts/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Artifact
         * @description One artifact: its versions with their functions, and who runs with them.
         */
        get: operations["artifact_api_v1_artifacts__name__get"];
        put?: never;
        /**
         * Upload
         * @description Upload a jar, a wheel or a file of Python; `artifacts/save/plan` with its hash says what it would be.
         */
        post: operations["upload_api_v1_artifacts__name__post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/artifacts/{name}/versions/{number}/content": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Content
         * @description The bytes of a version, whose hash was looked at.
         */
        get: operations["content_api_v1_artifacts__name__versions__number__content_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Audit
         * @description Who did what, with which plan, and how it went; the newest first.
         */
        get: operations["audit_api_v1_audit_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/catalog": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Entries
         * @description What of the catalog one may see, by name.
         */
        get: operations["entries_api_v1_catalog_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/catalog/attached": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Attached Catalogs
         * @description Catalogs of Spark's own in which one has a privilege; a trial of kind `tables` lists what is in them.
         */
        get: operations["attached_catalogs_api_v1_catalog_attached_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/catalog/create/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Define databases, tables, views and functions */
        post: operations["plan_catalog_create_api_v1_catalog_create_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/catalog/drop/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Drop an object of the catalog, and its topic where that is asked for */
        post: operations["plan_catalog_drop_api_v1_catalog_drop_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/catalog/entries/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Entry
         * @description One entry, with what one may do with it.
         */
        get: operations["entry_api_v1_catalog_entries__name__get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/catalog/entries/{name}/versions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Versions
         * @description The schema versions of a table, the newest first.
         */
        get: operations["versions_api_v1_catalog_entries__name__versions_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/catalog/grant/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Give somebody a privilege */
        post: operations["plan_catalog_grant_api_v1_catalog_grant_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/catalog/grants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Grants
         * @description Grants on what one manages, and one's own.
         */
        get: operations["grants_api_v1_catalog_grants_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/catalog/group/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Have accounts in a group, and others not */
        post: operations["plan_catalog_group_api_v1_catalog_group_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/catalog/groups": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Groups
         * @description One's own groups; an admin's answer has all.
         */
        get: operations["groups_api_v1_catalog_groups_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/catalog/import/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Make tables of topics, with columns that are inferred from samples */
        post: operations["plan_catalog_import_api_v1_catalog_import_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/catalog/revoke/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Take a privilege back */
        post: operations["plan_catalog_revoke_api_v1_catalog_revoke_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/catalog/set/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Change an owner or a description */
        post: operations["plan_catalog_set_api_v1_catalog_set_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/checkpoints/advise": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Advise
         * @description The ways to move a job, the best first; nothing is written.
         */
        post: operations["advise_api_v1_checkpoints_advise_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/checkpoints/inspect": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Inspect
         * @description What a checkpoint or savepoint holds, with its lag; nothing is written.
         */
        post: operations["inspect_api_v1_checkpoints_inspect_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/checkpoints/rewrite/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Write translated positions into a checkpoint, in place with a backup, or to a new path */
        post: operations["plan_checkpoints_rewrite_api_v1_checkpoints_rewrite_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/checkpoints/undo/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Take the newest rewrite in place back, byte for byte */
        post: operations["plan_checkpoints_undo_api_v1_checkpoints_undo_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/checkpoints/verify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Verify
         * @description Read a rewritten checkpoint again and prove it, position by position; nothing is written.
         */
        post: operations["verify_api_v1_checkpoints_verify_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/clients": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Clients
         * @description Who is where, and who lags behind a change; of other instances' clients what they wrote some seconds ago.
         */
        get: operations["clients_api_v1_clients_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/clients/{client_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Client
         * @description One client.
         */
        get: operations["client_api_v1_clients__client_id__get"];
        /**
         * Register
         * @description Register a client, and be told its route; again with the same id: it asks for something else.
         */
        put: operations["register_api_v1_clients__client_id__put"];
        post?: never;
        /**
         * Remove
         * @description Forget a client.
         */
        delete: operations["remove_api_v1_clients__client_id__delete"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/clients/{client_id}/ready": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Ready
         * @description A client has paused, as a switch asked it to.
         */
        post: operations["ready_api_v1_clients__client_id__ready_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/clients/{client_id}/report": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Report
         * @description Hear of a client, so that it stays live.
         */
        post: operations["report_api_v1_clients__client_id__report_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/clients/{client_id}/watch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Watch
         * @description Be told the route, and each change of it; a client has one stream, the last that it opened.
         */
        get: operations["watch_api_v1_clients__client_id__watch_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/clusters": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Clusters
         * @description Every context, and when its links were read last.
         */
        get: operations["clusters_api_v1_clusters_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/clusters/{target}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Cluster
         * @description One context.
         */
        get: operations["cluster_api_v1_clusters__target__get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/clusters/{target}/links/{link}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Link
         * @description One link, without its lanes.
         */
        get: operations["link_api_v1_clusters__target__links__link__get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/clusters/{target}/links/{link}/group": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show Group
         * @description One group in full, with what a move would do now.
         */
        get: operations["show_group_api_v1_clusters__target__links__link__group_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/clusters/{target}/links/{link}/groups": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Groups
         * @description Every group of the link's source, and its state on both clusters.
         */
        get: operations["list_groups_api_v1_clusters__target__links__link__groups_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/clusters/{target}/links/{link}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * History
         * @description A link's rates and lags in the last hour, as far as this instance saw them.
         */
        get: operations["history_api_v1_clusters__target__links__link__history_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/clusters/{target}/links/{link}/lanes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lanes
         * @description A page of a link's lanes, filtered and sorted here.
         */
        get: operations["lanes_api_v1_clusters__target__links__link__lanes_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/clusters/{target}/links/{link}/lanes/{where}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lane
         * @description One lane.
         */
        get: operations["lane_api_v1_clusters__target__links__link__lanes__where__get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/clusters/{target}/links/{link}/maps": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Export
         * @description All maps of a link, to translate without its clusters; refused where one of them is in doubt.
         */
        get: operations["export_api_v1_clusters__target__links__link__maps_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/clusters/{target}/links/{link}/maps.csv": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Export Runs
         * @description The runs of all maps of a link as lines, for spreadsheets and databases.
         */
        get: operations["export_runs_api_v1_clusters__target__links__link__maps_csv_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/clusters/{target}/links/{link}/processes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Processes
         * @description The processes that instances of the service started for a link, the newest first.
         */
        get: operations["processes_api_v1_clusters__target__links__link__processes_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/clusters/{target}/links/{link}/ranges": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Ranges
         * @description The offset maps of a link, of one source topic, or of one TOPIC-PARTITION.
         */
        get: operations["ranges_api_v1_clusters__target__links__link__ranges_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/clusters/{target}/links/{link}/translate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Translate
         * @description Where offsets are on the other side: exact, or refused with the reason.
         */
        post: operations["translate_api_v1_clusters__target__links__link__translate_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/clusters/{target}/links/{link}/translate/group": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Translate Group
         * @description Everything that a group has committed, on the other side.
         */
        get: operations["translate_group_api_v1_clusters__target__links__link__translate_group_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/clusters/{target}/links/{link}/verification": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Verified
         * @description The last comparison of a link, with its report.
         */
        get: operations["verified_api_v1_clusters__target__links__link__verification_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/clusters/{target}/links/{link}/verification/page": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Verification Page
         * @description The report of the last comparison as a page that stands alone; raises NoReportError.
         */
        get: operations["verification_page_api_v1_clusters__target__links__link__verification_page_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/clusters/{target}/moves": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Moves
         * @description The changes of groups' positions on a cluster that can be taken back, the newest first.
         */
        get: operations["moves_api_v1_clusters__target__moves_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/clusters/{target}/probe": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Probe
         * @description Connect to a cluster as a link would: its version, the principal, and what is missing.
         */
        post: operations["probe_api_v1_clusters__target__probe_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Events
         * @description Listen; what is shown is asked for again where an event names it.
         *
         *     The first event says that the stream is open, ``lost`` that this listener was too slow: it reads everything again.
         *     ``ending`` is the last one of an instance that ends.
         */
        get: operations["events_api_v1_events_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/groups/baseline/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Remember what groups have committed, so that a later move can tell who has gone on */
        post: operations["plan_groups_baseline_api_v1_groups_baseline_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/groups/create/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Begin a group before its consumers are started there */
        post: operations["plan_groups_create_api_v1_groups_create_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/groups/sync/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Move groups to exactly the same place on the target */
        post: operations["plan_groups_sync_api_v1_groups_sync_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/groups/undo/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Take a move of groups back */
        post: operations["plan_groups_undo_api_v1_groups_undo_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/lineage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Column
         * @description Who reads a column, and what breaks if it goes, over all streams.
         */
        get: operations["column_api_v1_lineage_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/links": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Links
         * @description The links of every cluster, and the clusters whose links are not known.
         */
        get: operations["links_api_v1_links_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/links/abort-transaction/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** End a transaction of the source that holds a lane up */
        post: operations["plan_links_abort_transaction_api_v1_links_abort_transaction_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/links/accept/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Let lanes go on that wait for a person's decision */
        post: operations["plan_links_accept_api_v1_links_accept_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/links/create/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Store a link, where nothing forbids it */
        post: operations["plan_links_create_api_v1_links_create_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/links/delete/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Forget a link; what it copied stays */
        post: operations["plan_links_delete_api_v1_links_delete_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/links/pause/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Have a link's workers stop reading; they keep their lanes */
        post: operations["plan_links_pause_api_v1_links_pause_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/links/resume/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Have a paused link, and lanes of it that had stopped, go on */
        post: operations["plan_links_resume_api_v1_links_resume_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/links/run/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Start a link; it goes on exactly at its positions */
        post: operations["plan_links_run_api_v1_links_run_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/links/set/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Change a link's filter, rate limit or continuous sync of groups; its workers obey within two seconds */
        post: operations["plan_links_set_api_v1_links_set_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/links/stop/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Ask a link's runs to end, wherever they are */
        post: operations["plan_links_stop_api_v1_links_stop_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/links/wait/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Wait until a link has copied what its source holds as the wait begins */
        post: operations["plan_links_wait_api_v1_links_wait_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/login": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Begin
         * @description Begin to sign in through the provider.
         */
        get: operations["begin_api_v1_login_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/login/done": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Finish
         * @description Come back from the provider.
         */
        get: operations["finish_api_v1_login_done_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/login/ways": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Ways
         * @description How one can sign in.
         */
        get: operations["ways_api_v1_login_ways_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Me
         * @description Who I am here, and whether this instance acts.
         */
        get: operations["me_api_v1_me_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/migrations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Migrations
         * @description The migrations, by name, with where their waves stand.
         */
        get: operations["migrations_api_v1_migrations_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/migrations/access/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Carry access rules and quotas of waves that are not switched yet over to the target */
        post: operations["plan_migrations_access_api_v1_migrations_access_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/migrations/cancel/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Have a wave stay on the source: its links go */
        post: operations["plan_migrations_cancel_api_v1_migrations_cancel_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/migrations/complete/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Have a wave stay on the target: its links and its way back go */
        post: operations["plan_migrations_complete_api_v1_migrations_complete_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/migrations/discover": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Suggested
         * @description See what a cluster holds, and suggest a migration of it, as `migrate discover` does; nothing is changed.
         */
        post: operations["suggested_api_v1_migrations_discover_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/migrations/give-up/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Take back what is under way for a wave, before its point of no return */
        post: operations["plan_migrations_give_up_api_v1_migrations_give_up_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/migrations/hold/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Have switches of a migration, or of a wave, wait */
        post: operations["plan_migrations_hold_api_v1_migrations_hold_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/migrations/reconcile/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** See what a lost cluster that is back has more, and make the way there where it is exact */
        post: operations["plan_migrations_reconcile_api_v1_migrations_reconcile_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/migrations/rehearse/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Try the whole path of a wave on topics and groups that are made for it, and removed */
        post: operations["plan_migrations_rehearse_api_v1_migrations_rehearse_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/migrations/release/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Have switches of a migration, or of a wave, wait no more */
        post: operations["plan_migrations_release_api_v1_migrations_release_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/migrations/resume/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Have a migration, or a wave, copy again as fast as its file and the clusters allow */
        post: operations["plan_migrations_resume_api_v1_migrations_resume_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/migrations/reverse/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Lead a wave's applications back to the source, exactly */
        post: operations["plan_migrations_reverse_api_v1_migrations_reverse_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/migrations/set/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Change a migration's file, but for what its waves under way consist of */
        post: operations["plan_migrations_set_api_v1_migrations_set_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/migrations/start/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Begin to copy waves of a migration, where nothing forbids it */
        post: operations["plan_migrations_start_api_v1_migrations_start_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/migrations/switch/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Switch a wave's applications to the target */
        post: operations["plan_migrations_switch_api_v1_migrations_switch_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/migrations/throttle/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Have a migration, or a wave, copy more slowly, or not at all, until it is resumed */
        post: operations["plan_migrations_throttle_api_v1_migrations_throttle_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/migrations/verify/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Compare what a wave's link has copied, record by record */
        post: operations["plan_migrations_verify_api_v1_migrations_verify_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/migrations/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Migration
         * @description One migration: its file, its waves, and each run with its steps.
         */
        get: operations["migration_api_v1_migrations__name__get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/migrations/{name}/runs/{run_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Run
         * @description One run of a wave, with its steps.
         */
        get: operations["run_api_v1_migrations__name__runs__run_id__get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/mirrormaker/publish/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Publish a link's offset map as MirrorMaker 2 does */
        post: operations["plan_mirrormaker_publish_api_v1_mirrormaker_publish_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/mirrormaker/report": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Compare
         * @description MirrorMaker 2's answer for each group and partition, and how far it is off; nothing is changed.
         */
        post: operations["compare_api_v1_mirrormaker_report_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/mirrormaker/translate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Translate
         * @description Where readers of MirrorMaker 2's copy go on: exact, or approximate with the error's bound, or refused.
         */
        post: operations["translate_api_v1_mirrormaker_translate_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/offsets/rebuild/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Make the maps of topics that another tool copied, from the records alone */
        post: operations["plan_offsets_rebuild_api_v1_offsets_rebuild_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/operations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Operations
         * @description Operations, the newest first.
         */
        get: operations["operations_api_v1_operations_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/operations/{work_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Operation
         * @description One operation: where it stands, and what came of it.
         */
        get: operations["operation_api_v1_operations__work_id__get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/plans/{plan_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Plan
         * @description A plan that was shown within the last day.
         */
        get: operations["plan_api_v1_plans__plan_id__get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/plans/{plan_id}/apply": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Apply
         * @description Apply a plan that was seen; it is made again first, and refused where it would be another one now.
         */
        post: operations["apply_api_v1_plans__plan_id__apply_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/routes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Newest
         * @description The route table that applies.
         */
        get: operations["newest_api_v1_routes_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/routes/apply/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Publish a route table, and lead applications by it */
        post: operations["plan_routes_apply_api_v1_routes_apply_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/routes/cancel/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Give a switch up: every client goes on where it was */
        post: operations["plan_routes_cancel_api_v1_routes_cancel_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/routes/explain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Explain
         * @description Where a client would be led and why, each rule on its way; nothing is registered.
         */
        post: operations["explain_api_v1_routes_explain_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/routes/rollback/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Publish the route table of an earlier version again */
        post: operations["plan_routes_rollback_api_v1_routes_rollback_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/routes/versions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Versions
         * @description Versions of the route table, the newest first.
         */
        get: operations["versions_api_v1_routes_versions_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/routes/versions/{version}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Version
         * @description One version of the route table.
         */
        get: operations["version_api_v1_routes_versions__version__get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Sign In
         * @description Sign a browser in with a token, which it keeps in a cookie that no script can read.
         */
        post: operations["sign_in_api_v1_session_post"];
        /**
         * Sign Out
         * @description Sign this browser out: a session that a login began ends, a token that somebody typed stays what it was.
         */
        delete: operations["sign_out_api_v1_session_delete"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/streams": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Streams
         * @description The streams, by name, with how their queries go; then the links of the clusters that were read.
         */
        get: operations["streams_api_v1_streams_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/streams/abandon/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Give up the run of a machine that is not heard of, so that another machine starts the stream */
        post: operations["plan_streams_abandon_api_v1_streams_abandon_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/streams/alerts/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Change the rules of the alerts of a stream or a link, or who is told */
        post: operations["plan_streams_alerts_api_v1_streams_alerts_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/streams/checkpoint/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Save the checkpoints of a stopped stream under a name, or take such a one away */
        post: operations["plan_streams_checkpoint_api_v1_streams_checkpoint_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/streams/create/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Save a new stream: a script of SQL, or a file of PySpark */
        post: operations["plan_streams_create_api_v1_streams_create_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/streams/delete/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Forget a stream with its versions and runs; its checkpoints stay */
        post: operations["plan_streams_delete_api_v1_streams_delete_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/streams/edit/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Save another version of a stream */
        post: operations["plan_streams_edit_api_v1_streams_edit_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/streams/publish/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Have the next start of a stream run a version */
        post: operations["plan_streams_publish_api_v1_streams_publish_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/streams/restart/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Have a stream end, and start it with the version that is published */
        post: operations["plan_streams_restart_api_v1_streams_restart_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/streams/rollback/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Have the next start of a stream run the version that was published before */
        post: operations["plan_streams_rollback_api_v1_streams_rollback_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/streams/start/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Start a stream; it goes on exactly where its checkpoints are */
        post: operations["plan_streams_start_api_v1_streams_start_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/streams/stop/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Have a stream end after its micro-batch */
        post: operations["plan_streams_stop_api_v1_streams_stop_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/streams/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Stream
         * @description One stream: its state, its versions, and its runs; or a link, with the runs that the service has started.
         */
        get: operations["stream_api_v1_streams__name__get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/streams/{name}/alerts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Stream Alerts
         * @description The alerts of one stream or link, those that are over too, and its rules.
         */
        get: operations["stream_alerts_api_v1_streams__name__alerts_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/streams/{name}/checkpoints": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Checkpoints
         * @description The checkpoints that were saved of a stream, the newest first.
         */
        get: operations["checkpoints_api_v1_streams__name__checkpoints_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/streams/{name}/diff": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Diff
         * @description How a version differs from another: its settings, what its functions come from, its script.
         */
        get: operations["diff_api_v1_streams__name__diff_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/streams/{name}/lineage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lineage
         * @description Which columns of which tables make which columns of what a stream writes.
         */
        get: operations["lineage_api_v1_streams__name__lineage_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/streams/{name}/lineage/openlineage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Events
         * @description The same as run events of OpenLineage, one for each INSERT.
         */
        get: operations["events_api_v1_streams__name__lineage_openlineage_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/streams/{name}/runs/{run_id}/log": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Log
         * @description The log of a run on this machine: what Spark and the job itself have written.
         */
        get: operations["log_api_v1_streams__name__runs__run_id__log_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/streams/{name}/runs/{run_id}/log/whole": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Whole Log
         * @description The whole log of a run on this machine as a file, as far as it is written now.
         */
        get: operations["whole_log_api_v1_streams__name__runs__run_id__log_whole_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/streams/{name}/versions/{number}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Version
         * @description One version, with its script.
         */
        get: operations["version_api_v1_streams__name__versions__number__get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/switches": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Switches
         * @description Switches, the newest first.
         */
        get: operations["switches_api_v1_switches_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/switches/{switch_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Switch
         * @description One switch, with its clients.
         */
        get: operations["switch_api_v1_switches__switch_id__get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Tokens
         * @description One's own tokens; an admin's answer has all.
         */
        get: operations["tokens_api_v1_tokens_get"];
        put?: never;
        /**
         * Issue
         * @description Make a token; its text is in this answer and nowhere else.
         */
        post: operations["issue_api_v1_tokens_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tokens/{token_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke
         * @description End a token at once.
         */
        delete: operations["revoke_api_v1_tokens__token_id__delete"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/trials": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Ask
         * @description Try a script in a process of its own: validate it, preview rows of one of its SELECTs, or try a saved version on
         *     copies of its stream's checkpoints; or list the tables of attached catalogs that one has a privilege on.
         *
         *     Nothing is written anywhere.
         */
        post: operations["ask_api_v1_trials_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/trials/{trial_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Trial
         * @description A trial as it stands; asking for it keeps it alive.
         */
        get: operations["trial_api_v1_trials__trial_id__get"];
        put?: never;
        post?: never;
        /**
         * Remove
         * @description End a trial; one that has ended is forgotten.
         */
        delete: operations["remove_api_v1_trials__trial_id__delete"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/trials/{trial_id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Events
         * @description Listen to a trial from its beginning; the id of each event counts the rows that were told with it.
         *
         *     ``trial`` is how it stands, without rows; ``rows`` are the next ones; ``ended`` is the last event.
         */
        get: operations["events_api_v1_trials__trial_id__events_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/verbs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Verbs
         * @description What can be changed, and the role that applies its plans.
         */
        get: operations["verbs_api_v1_verbs_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/verify/resume/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Go on with a comparison that was stopped or died, up to the same pins */
        post: operations["plan_verify_resume_api_v1_verify_resume_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/verify/start/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Compare both sides of a link, record by record, from where that was done last */
        post: operations["plan_verify_start_api_v1_verify_start_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/verify/stop/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Ask a link's comparison to end; `resume` goes on with it */
        post: operations["plan_verify_stop_api_v1_verify_stop_plan_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lives
         * @description Whether the process answers; ``ready`` is not asked for here.
         */
        get: operations["lives_healthz_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Metrics
         * @description What ``link metrics`` tells, of every cluster that was just read; a token of a viewer is needed.
         */
        get: operations["metrics_metrics_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Ready
         * @description Whether the store answers, and whether this instance acts; 503 where it is not ready.
         */
        get: operations["ready_readyz_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        AbandonStreamPlan: {
            hash: string;
            host: string;
            may: string[];
            run: string;
            silent_since: number;
            stream: string;
            wanted: components["schemas"]["StreamWanted"];
        };
        AbortPlan: {
            abort: number | null;
            hash: string;
            high_watermark: number;
            kept: string[];
            link: string;
            read_at_ms: number;
            source: string;
            stable: number;
            transactions: components["schemas"]["SourceTransaction"][];
        };
        AbortReport: {
            high_watermark: number;
            plan: components["schemas"]["AbortPlan"];
            stable: number;
        };
        /**
         * AbortRequest
         * @description A transaction of the source that holds a lane up, as ``TOPIC-PARTITION``.
         */
        AbortRequest: {
            /** Link */
            link: string;
            /**
             * Producer Id
             * @default null
             */
            producer_id: number | null;
            /** Target */
            target: string;
            /** Where */
            where: string;
        };
        AcceptPlan: {
            forget: components["schemas"]["MirroredTopic"][];
            hash: string;
            link: string;
            pending: components["schemas"]["PendingDecision"][];
            recreated: string[];
            remake: string[];
            remember: components["schemas"]["MirroredTopic"][];
        };
        AcceptReport: {
            plan: components["schemas"]["AcceptPlan"];
        };
        AccessDiff: {
            adopt: components["schemas"]["Acl"][];
            conflicts: components["schemas"]["QuotaChange"][];
            create: components["schemas"]["Acl"][];
            delete: components["schemas"]["Acl"][];
            forget: components["schemas"]["Acl"][];
            quotas: components["schemas"]["QuotaChange"][];
            quotas_adopted: components["schemas"]["QuotaChange"][];
            quotas_forgotten: [
                [
                    string,
                    string | null
                ][],
                string
            ][];
            quotas_there: [
                [
                    string,
                    string | null
                ][],
                string
            ][];
            there: components["schemas"]["Acl"][];
        };
        AccessLook: {
            at_ms: number;
            changed_ms: number | null;
            created: number;
            deleted: number;
            good_ms: number | null;
            quotas: number;
            why: string;
        };
        AccessPlan: {
            hash: string;
            migration: string;
            reasons: components["schemas"]["Reason"][];
            source: string;
            target: string;
            waves: components["schemas"]["WaveAccess"][];
        };
        AccessReport: {
            created: components["schemas"]["Acl"][];
            deleted: components["schemas"]["Acl"][];
            quotas: components["schemas"]["QuotaChange"][];
            target: string;
        };
        /**
         * AccessShape
         * @description Access rules and quotas of the waves on the target.
         */
        AccessShape: {
            /**
             * Principals
             * @description What principals of the source are called there; others keep their names.
             */
            principals?: {
                [key: string]: string;
            };
            /**
             * Quotas
             * @description Whether quotas of users and client ids are carried over, too.
             * @default false
             */
            quotas: boolean;
            /**
             * Sync
             * @description Whether they are carried over, before and as a wave is switched.
             * @default false
             */
            sync: boolean;
        };
        Account: {
            created_at: number;
            disabled_at: number | null;
            id: string;
            issuer: string;
            name: string;
            role: components["schemas"]["Role"];
        };
        Acl: {
            host: string;
            operation: components["schemas"]["AclOperation"];
            pattern: components["schemas"]["PatternType"];
            permission: components["schemas"]["AclPermission"];
            principal: string;
            resource_name: string;
            resource_type: components["schemas"]["ResourceType"];
        };
        /** @enum {string} */
        AclOperation: "ALL" | "READ" | "WRITE" | "CREATE" | "DELETE" | "ALTER" | "DESCRIBE" | "CLUSTER_ACTION" | "DESCRIBE_CONFIGS" | "ALTER_CONFIGS" | "IDEMPOTENT_WRITE" | "CREATE_TOKENS" | "DESCRIBE_TOKENS" | "TWO_PHASE_COMMIT";
        /** @enum {string} */
        AclPermission: "ALLOW" | "DENY";
        Advice: {
            engine: string;
            format: components["schemas"]["CheckpointFormat"];
            job: string;
            path: string;
            seen: string[];
            unmodified_restart: components["schemas"]["Effect"];
            ways: components["schemas"]["Way"][];
        };
        AdviceAnswer: {
            advice: components["schemas"]["Advice"];
            resumes: components["schemas"]["ResumeOffsets"] | null;
            why: components["schemas"]["Reason"] | null;
        };
        /**
         * AdviceRequest
         * @description A job that is to be moved, with what only its people know of it; with no way that positions lead less is told.
         *
         *     ``cluster`` is the old one, where no link tells it; ``group`` the job's own, ``downtime_s`` what it may be away,
         *     ``measure_s`` the time between two looks at the clusters.
         */
        AdviceRequest: {
            /**
             * Cluster
             * @default null
             */
            cluster: string | null;
            /**
             * Downtime S
             * @default null
             */
            downtime_s: number | null;
            /**
             * Dynamic
             * @default {}
             */
            dynamic: {
                [key: string]: components["schemas"]["RewriteClusterShape"];
            };
            /**
             * Group
             * @default null
             */
            group: string | null;
            /**
             * Links
             * @default []
             */
            links: string[];
            /**
             * Maps
             * @default null
             */
            maps: string | null;
            /**
             * Measure S
             * @default 5
             */
            measure_s: number;
            /**
             * Offsets
             * @default null
             */
            offsets: {
                [key: string]: {
                    [key: string]: number;
                };
            } | null;
            /** Path */
            path: string;
            /**
             * Rename
             * @default {}
             */
            rename: {
                [key: string]: string;
            };
            /**
             * Sources
             * @default null
             */
            sources: string[] | null;
            /**
             * Sql
             * @default null
             */
            sql: boolean | null;
            /**
             * Start
             * @default null
             */
            start: string | null;
            /**
             * Stay
             * @default []
             */
            stay: string[];
            /**
             * Target
             * @default null
             */
            target: string | null;
            /**
             * Uids
             * @default null
             */
            uids: boolean | null;
        };
        AdviceStep: {
            command: string;
            what: string;
        };
        /** @enum {string} */
        AlertKind: "alive" | "lag" | "restarts" | "slow";
        AlertRuleLine: {
            for_s: number;
            is_changed: boolean;
            is_on: boolean;
            kind: components["schemas"]["AlertKind"];
            limit: number;
        };
        /** @enum {string} */
        AlertState: "over" | "waiting" | "firing";
        AlertsPlan: {
            hash: string;
            receivers: string[];
            rules: components["schemas"]["AlertRuleLine"][];
            stream: string;
            target: string;
        };
        AlignedLane: {
            ranges: number;
            records: number;
            source: string;
            target: string;
            unclear: number;
        };
        AlignmentPlan: {
            hash: string;
            lanes: number;
            link: string;
            offsets: number;
            topics: {
                [key: string]: string;
            };
        };
        AlignmentReport: {
            file: string;
            lanes: components["schemas"]["AlignedLane"][];
            link: string;
        };
        AnalysedAnswer: {
            inserts: components["schemas"]["AnalysedInsert"][];
            selects: components["schemas"]["AnalysedSelect"][];
            statements: components["schemas"]["AnalysedStatement"][];
            tables: components["schemas"]["AnalysedTable"][];
        };
        AnalysedInsert: {
            columns: components["schemas"]["ColumnAnswer"][];
            connector: string;
            line: number;
            mode: string;
            number: number;
            query: string;
            table: string;
        };
        AnalysedSelect: {
            columns: components["schemas"]["ColumnAnswer"][];
            line: number;
            number: number;
        };
        AnalysedStatement: {
            column: number;
            kind: string;
            line: number;
            name: string;
            number: number;
        };
        AnalysedTable: {
            columns: components["schemas"]["ColumnAnswer"][];
            connector: string;
            line: number;
            name: string;
        };
        /** @enum {string} */
        AnswerKind: "exact" | "approximate" | "before" | "after" | "unmapped" | "unknown";
        Answered: {
            above: components["schemas"]["OffsetPair"] | null;
            answer: number | null;
            below: components["schemas"]["OffsetPair"] | null;
            kind: components["schemas"]["AnswerKind"];
            most_again: number | null;
            offset: number;
            partition: string;
            to: string | null;
            why: string;
        };
        ApiSupport: {
            name: string;
            needed: [
                number,
                number
            ];
            offered: [
                number,
                number
            ] | null;
        };
        /**
         * ApplyRequest
         * @description A whole route table, with the fields of a routes file, and why it is published.
         */
        ApplyRequest: {
            /**
             * At Once
             * @default false
             */
            at_once: boolean;
            /** Reason */
            reason: string;
            /**
             * Stragglers
             * @default cancel
             * @enum {string}
             */
            stragglers: "cancel" | "leave";
            table: components["schemas"]["RoutesShape"];
            /**
             * Timeout S
             * @default 60
             */
            timeout_s: number;
            /**
             * When Lost
             * @default wait
             * @enum {string}
             */
            when_lost: "wait" | "go";
        };
        /**
         * Approval
         * @description The hash of the plan that was seen: another one is refused.
         */
        Approval: {
            /** Hash */
            hash: string;
        };
        ArtifactAnswer: {
            artifact: components["schemas"]["StoredArtifact"];
            versions: components["schemas"]["ArtifactVersionAnswer"][];
        };
        ArtifactArgument: {
            name: string;
            optional: boolean;
            type: string;
        };
        ArtifactFile: {
            file: string;
            sha256: string;
            size: number;
        };
        ArtifactFunction: {
            arguments: components["schemas"]["ArtifactArgument"][];
            name: string;
            returns: string;
        };
        /** @enum {string} */
        ArtifactKind: "jar" | "wheel" | "python";
        ArtifactPin: {
            artifact: string;
            content: components["schemas"]["ArtifactFile"];
            dependencies: components["schemas"]["ArtifactFile"][];
            functions: components["schemas"]["PinnedFunction"][];
            kind: components["schemas"]["ArtifactKind"];
            number: number;
        };
        ArtifactVersion: {
            at_ms: number;
            author: string;
            content: components["schemas"]["ArtifactFile"];
            dependencies: components["schemas"]["ArtifactFile"][];
            functions: components["schemas"]["ArtifactFunction"][];
            note: string;
            number: number;
        };
        ArtifactVersionAnswer: {
            uses: string[];
            version: components["schemas"]["ArtifactVersion"];
        };
        AttachedAnswer: {
            connector: string;
            launcher: string;
            name: string;
        };
        AuditEntry: {
            account: string;
            address: string;
            at: number;
            detail: string;
            hash: string | null;
            id: number;
            operation: string | null;
            outcome: components["schemas"]["Outcome"];
            plan: string | null;
            role: string;
            subject: string;
            verb: string;
        };
        Baseline: {
            group: string;
            kind: components["schemas"]["GroupKind"];
            link: string;
            partitions: components["schemas"]["BaselinePartition"][];
            taken_at_ms: number;
        };
        BaselinePartition: {
            begin: number | null;
            commit: components["schemas"]["Commit"];
            coverage: components["schemas"]["Coverage"];
            source: string;
        };
        BaselinePlan: {
            baselines: components["schemas"]["Baseline"][];
            hash: string;
            link: string;
        };
        BaselineReport: {
            baselines: components["schemas"]["Baseline"][];
            before: {
                [key: string]: number;
            };
            link: string;
            made_at_ms: number;
            stored: boolean;
        };
        BatchPage: {
            at_ms: number | null;
            committed: boolean;
            number: number;
            watermark_ms: number | null;
        };
        BatchSample: {
            append_time: number;
            batches: number;
            gaps: number;
            idempotent: number;
            largest: number;
            newest_ms: number | null;
            oldest_ms: number | null;
            plain: number;
            records: number;
            size: number;
            thinned: number;
            transactional: number;
        };
        /**
         * BeginRequest
         * @description A group that begins in some topics of a cluster.
         *
         *     ``start`` is earliest, latest, a time with its zone, group:NAME, or the next offsets to read, given as
         *     TOPIC-PARTITION:OFFSET with commas between them.
         */
        BeginRequest: {
            /** Group */
            group: string;
            /**
             * Start
             * @default earliest
             */
            start: string;
            /** Target */
            target: string;
            /** Topics */
            topics: string[];
        };
        /**
         * CancelRequest
         * @description A wave that stays on the source; ``purge`` deletes the target's topics made for it, and other copies.
         */
        CancelRequest: {
            /** Migration */
            migration: string;
            /**
             * Purge
             * @default false
             */
            purge: boolean;
            /** Wave */
            wave: string;
        };
        CancelSwitchPlan: {
            clients: number;
            groups: string[];
            hash: string;
            paused: number;
            reason: string;
            state: components["schemas"]["SwitchState"];
            switch: string;
            version: number;
        };
        /**
         * CancelSwitchRequest
         * @description A switch that is given up, and why.
         */
        CancelSwitchRequest: {
            /** Reason */
            reason: string;
            /** Switch */
            switch: string;
        };
        CancelledSwitch: {
            state: components["schemas"]["SwitchState"];
            switch: string;
            why: string;
        };
        /**
         * CatalogGrantRequest
         * @description A privilege on a catalog, a database or an object, for ``user:NAME`` or ``group:NAME``.
         */
        CatalogGrantRequest: {
            /** Name */
            name: string;
            /**
             * On
             * @default object
             * @enum {string}
             */
            on: "catalog" | "database" | "object";
            /** Principal */
            principal: string;
            /**
             * Privilege
             * @enum {string}
             */
            privilege: "read" | "write" | "manage";
        };
        /**
         * CatalogGroupRequest
         * @description Accounts that come into a group, or leave it.
         */
        CatalogGroupRequest: {
            /**
             * Add
             * @default []
             */
            add: string[];
            /** Group */
            group: string;
            /**
             * Remove
             * @default []
             */
            remove: string[];
        };
        /**
         * CatalogImportRequest
         * @description Topics of a cluster code that become tables of a database; ``samples`` records of each are looked at.
         */
        CatalogImportRequest: {
            /** Cluster */
            cluster: string;
            /**
             * Database
             * @default default
             */
            database: string;
            /**
             * Samples
             * @default 200
             */
            samples: number;
            /** Topics */
            topics: string[];
        };
        /**
         * CatalogSetRequest
         * @description An entry's new owner, or what is said of it.
         */
        CatalogSetRequest: {
            /**
             * Description
             * @default null
             */
            description: string | null;
            /**
             * Kind
             * @default object
             * @enum {string}
             */
            kind: "object" | "database";
            /** Name */
            name: string;
            /**
             * Owner
             * @default null
             */
            owner: string | null;
        };
        CaughtUp: {
            behind: number;
            link: string;
            read_at_ms: number;
        };
        /** @enum {string} */
        Cause: "the source no longer has records that were not copied" | "the source lost records that were copied" | "the source topic was deleted and made again" | "the target topic was deleted and made again" | "the target topic was deleted" | "it is no longer known exactly how far the lane was copied" | "the lane was copied, and who wrote it is forgotten" | "the lane's batches in the target log do not follow each other" | "what the lane's batches past gaps are copies of is forgotten" | "the lane stopped at records that cannot be copied";
        /** @enum {string} */
        ChangeKind: "create" | "change" | "keep";
        ChangeLinkPlan: {
            after: components["schemas"]["WantedState"];
            before: components["schemas"]["WantedState"];
            hash: string;
            link: string;
        };
        ChangeLinkReport: {
            link: string;
            wanted: components["schemas"]["WantedState"];
        };
        Changed: {
            added: string[];
            changed: string[];
            removed: string[];
        };
        /**
         * ChangedAccount
         * @description What becomes of an account; what is None stays.
         */
        ChangedAccount: {
            /**
             * Disabled
             * @default null
             */
            disabled: boolean | null;
            /**
             * Role
             * @default null
             */
            role: ("client" | "viewer" | "operator" | "approver" | "admin") | null;
        };
        ChangedAlerts: {
            stream: string;
            target: string;
        };
        ChangedCheckpoint: {
            name: string;
            stream: string;
            verb: components["schemas"]["CheckpointVerb"];
        };
        ChangedMigration: {
            migration: string;
        };
        ChangedStream: {
            run: string;
            stream: string;
            target: string;
            version: number;
            wanted: string;
        };
        /** @enum {string} */
        CheckpointFormat: "spark" | "flink";
        CheckpointPlan: {
            hash: string;
            name: string;
            queries: components["schemas"]["SavedQueryLine"][];
            stream: string;
            verb: components["schemas"]["CheckpointVerb"];
            version: number;
        };
        /** @enum {string} */
        CheckpointVerb: "save" | "delete";
        Client: {
            cluster: string;
            facts: components["schemas"]["ClientFacts"];
            id: string;
            query: components["schemas"]["RouteQuery"];
            registered_ms: number;
            report: components["schemas"]["ClientReport"];
            seen_ms: number;
            since: number;
            until_ms: number;
        };
        ClientAnswer: {
            behind: boolean;
            cluster: string;
            facts: components["schemas"]["ClientFacts"];
            id: string;
            live: boolean;
            query: components["schemas"]["RouteQuery"];
            registered_ms: number;
            report: components["schemas"]["ClientReport"];
            seen_ms: number;
            since: number;
            until_ms: number;
        };
        ClientCredentialsLogin: {
            client_id: string;
            client_secret: string;
            scope: string | null;
            token_url: string;
        };
        ClientFacts: {
            address: string;
            application: string;
            host: string;
            pid: number;
            sdk: string;
        };
        ClientMove: {
            after: components["schemas"]["Route"] | null;
            before: components["schemas"]["Route"] | null;
            client: components["schemas"]["Client"];
            why: string;
        };
        ClientReport: {
            bytes: number;
            errors: number;
            lag: number | null;
            last_error: string;
            positions: {
                [key: string]: number;
            };
            records: number;
            version: number;
        };
        /** @enum {string} */
        ClientRole: "producer" | "consumer";
        ClientsPage: {
            clients: components["schemas"]["ClientAnswer"][];
            matching: number;
            offset: number;
            total: number;
        };
        ClockSkew: {
            least_ms: number;
            most_ms: number;
        };
        ClusterAnswer: {
            bootstrap: string[];
            health: components["schemas"]["ClusterHealth"] | null;
            links: number;
            mechanism: string | null;
            name: string;
            problem: components["schemas"]["Problem"] | null;
            protocol: string;
            read_at_ms: number | null;
        };
        ClusterFacts: {
            apis: components["schemas"]["ApiSupport"][];
            brokers: number;
            cluster_id: string;
            context: string;
            permissions: components["schemas"]["Permission"][];
            version: string;
        };
        ClusterHealth: {
            brokers: number;
            missing: number[];
            offline: number;
            partitions: number;
            seen_at_ms: number;
            topics: number;
            under_replicated: number;
        };
        ClustersAnswer: {
            clusters: components["schemas"]["ClusterAnswer"][];
            file: string;
            problem: components["schemas"]["Problem"] | null;
            target: string | null;
        };
        /**
         * CodeShape
         * @description A cluster code, which applications name, and where it leads clients that no rule matches.
         */
        CodeShape: {
            /**
             * Cluster
             * @description A cluster, by the name of its context or in clusters.
             * @default null
             */
            cluster: string | null;
            /**
             * Code
             * @description Another code, whose rules then decide.
             * @default null
             */
            code: string | null;
            /**
             * Description
             * @description For people.
             * @default
             */
            description: string;
            /**
             * Read
             * @description Whether clients may read there.
             * @default true
             */
            read: boolean;
            /**
             * Topics
             * @description What topics are called there, with {topic} once: old.{topic}.
             * @default {topic}
             */
            topics: string;
            /**
             * Write
             * @description Whether clients may write there.
             * @default true
             */
            write: boolean;
        };
        Column: {
            name: string;
            type: string;
        };
        ColumnAnswer: {
            name: string;
            type: string;
        };
        ColumnLineageAnswer: {
            changed: string[];
            column: string;
            lost: string[];
            readers: components["schemas"]["LineageReader"][];
            streams: string[];
            uncertain: string[];
            unknown: string[];
        };
        Commit: {
            leader_epoch: number;
            metadata: string;
            offset: number;
        };
        ComparisonPlan: {
            doubts: {
                [key: string]: string;
            };
            forgets: components["schemas"]["ForgottenLane"][];
            hash: string;
            lanes: number;
            link: string;
            offsets: number;
            options: components["schemas"]["VerifyOptions"];
        };
        ComparisonReport: {
            directory: string;
            link: string;
            process: number;
            run: string;
            state: components["schemas"]["RunState"];
            verdict: components["schemas"]["ComparisonVerdict"] | null;
        };
        /** @enum {string} */
        ComparisonVerdict: "equal" | "different" | "unknown";
        Condition: {
            fix: string;
            status: components["schemas"]["ConditionStatus"];
            what: string;
            why: string;
        };
        /** @enum {string} */
        ConditionStatus: "met" | "not yet" | "unknown" | "not met";
        /**
         * ConfigsShape
         * @description Which topic configs follow the source's; regular expressions that match whole names, deny wins.
         */
        ConfigsShape: {
            /** Allow */
            allow?: string[];
            /** Deny */
            deny?: string[];
        };
        Considered: {
            misses: string[];
            priority: number;
            rule: string;
        };
        ContextProbe: {
            as_source: components["schemas"]["Reason"][];
            as_target: components["schemas"]["Reason"][];
            brokers: number;
            cluster_id: string;
            context: string;
            error: string;
            exit_code: number;
            hint: string;
            principal: string;
            version: string;
        };
        /**
         * ContextShape
         * @description One cluster.
         */
        ContextShape: {
            /**
             * Bootstrap
             * @description One or more host:port.
             */
            bootstrap: string[];
            security?: components["schemas"]["SecurityShape"];
        };
        CoordinatedTransaction: {
            partitions: string[];
            producer_epoch: number;
            producer_id: number;
            started_at_ms: number;
            state: string;
            timeout_ms: number;
            transactional_id: string;
        };
        /**
         * CopyShape
         * @description How topics are copied, as in a link file.
         */
        CopyShape: {
            configs?: components["schemas"]["ConfigsShape"];
            /**
             * Mode
             * @description auto keeps offsets where that is safe.
             * @default auto
             * @enum {string}
             */
            mode: "auto" | "mapped";
            naming?: components["schemas"]["NamingShape"];
            /**
             * Replication Factor
             * @description Of target topics; default the target brokers'.
             * @default null
             */
            replication_factor: number | null;
            /**
             * Start
             * @description earliest, latest, a time with its zone, or milliseconds since 1970.
             * @default earliest
             */
            start: string | number | components["schemas"]["StartOffsetsShape"];
        };
        /** @enum {string} */
        Coverage: "covered" | "before" | "gone" | "unknown" | "not in link";
        /**
         * CreateCatalogRequest
         * @description What is defined; with ``create_topics`` topics that tables name and that are not there are made.
         *
         *     ``retention`` is a length of time such as ``168h``; the cluster's own where it is left out.
         */
        CreateCatalogRequest: {
            /**
             * Accept Breaking
             * @default false
             */
            accept_breaking: boolean;
            /**
             * Create Topics
             * @default false
             */
            create_topics: boolean;
            definitions: components["schemas"]["Definitions"];
            /**
             * Partitions
             * @default 1
             */
            partitions: number;
            /**
             * Replication Factor
             * @default 1
             */
            replication_factor: number;
            /**
             * Retention
             * @default
             */
            retention: string;
        };
        CreateLinkPlan: {
            findings: components["schemas"]["Reason"][];
            hash: string;
            source: components["schemas"]["ClusterFacts"];
            spec: {
                [key: string]: unknown;
            };
            target: components["schemas"]["ClusterFacts"];
            topics: components["schemas"]["TopicPlan"][];
        };
        CreateLinkReport: {
            plan: components["schemas"]["CreateLinkPlan"];
            record: components["schemas"]["LinkRecord"];
        };
        CreatePlan: {
            begins: {
                [key: string]: components["schemas"]["Commit"];
            };
            cluster: string;
            group: string;
            hash: string;
            notes: string[];
            refusals: components["schemas"]["Reason"][];
            start: string;
        };
        /**
         * CreateRequest
         * @description A link as in a link file, which names no other file: that would be one of the service's machine.
         *
         *     ``adopt`` is a file of maps, as `offsets.rebuild` made it or below the service's own directories: the link goes on
         *     where what another tool has copied ends.
         */
        CreateRequest: {
            /**
             * Adopt
             * @default null
             */
            adopt: string | null;
            link: components["schemas"]["LinkShape"];
        };
        /**
         * CreateStreamRequest
         * @description A new stream: its script and how it runs.
         */
        CreateStreamRequest: {
            /**
             * Description
             * @default
             */
            description: string;
            /** @default sql */
            kind: components["schemas"]["StreamKind"];
            /**
             * Launcher
             * @default default
             */
            launcher: string;
            /**
             * Note
             * @default
             */
            note: string;
            /**
             * Restarts
             * @default 5
             */
            restarts: number;
            /** Script */
            script: string;
            /** Stream */
            stream: string;
            /**
             * Trigger
             * @default 1 second
             */
            trigger: string;
        };
        DefinePlan: {
            changes: components["schemas"]["ObjectChange"][];
            hash: string;
            topics: components["schemas"]["TopicOptions"] | null;
        };
        Defined: {
            changed: string[];
            hash: string;
            topics: string[];
        };
        /**
         * Definitions
         * @description Statements: CREATE DATABASE, TABLE, VIEW and FUNCTION.
         */
        Definitions: {
            /** Sql */
            sql: string;
        };
        DeleteArtifactPlan: {
            artifact: string;
            hash: string;
            is_last: boolean;
            versions: number[];
        };
        /**
         * DeleteArtifactRequest
         * @description A version of an artifact, or all of them.
         */
        DeleteArtifactRequest: {
            /** Artifact */
            artifact: string;
            /**
             * Version
             * @default null
             */
            version: number | null;
        };
        DeletePlan: {
            forget: {
                [key: string]: number;
            };
            hash: string;
            link: string;
            restore: {
                [key: string]: {
                    [key: string]: string | null;
                };
            };
            running: boolean;
            topics: components["schemas"]["MirroredTopic"][];
        };
        DeleteReport: {
            findings: components["schemas"]["Reason"][];
            plan: components["schemas"]["DeletePlan"];
        };
        DeleteStreamPlan: {
            hash: string;
            runs: number;
            stream: string;
            versions: number;
        };
        DeletedArtifact: {
            artifact: string;
            swept: number;
            versions: number[];
        };
        Destination: {
            cluster: string;
            code: string;
            may_read: boolean;
            may_write: boolean;
            topics: string;
        };
        /**
         * DestinationShape
         * @description Where clients are led: to a cluster, or to another code.
         */
        DestinationShape: {
            /**
             * Cluster
             * @description A cluster, by the name of its context or in clusters.
             * @default null
             */
            cluster: string | null;
            /**
             * Code
             * @description Another code, whose rules then decide.
             * @default null
             */
            code: string | null;
            /**
             * Read
             * @description Whether clients may read there.
             * @default true
             */
            read: boolean;
            /**
             * Topics
             * @description What topics are called there, with {topic} once: old.{topic}.
             * @default {topic}
             */
            topics: string;
            /**
             * Write
             * @description Whether clients may write there.
             * @default true
             */
            write: boolean;
        };
        /**
         * DiscoverRequest
         * @description Two contexts; ``name`` names the migration, by default SOURCE-TARGET.
         *
         *     ``watch_s`` is for how long logs are watched, to learn how fast they grow.
         */
        DiscoverRequest: {
            /**
             * Name
             * @default
             */
            name: string;
            /** Source */
            source: string;
            /** Target */
            target: string;
            /**
             * Watch S
             * @default 5
             */
            watch_s: number;
        };
        /**
         * DropCatalogRequest
         * @description What goes; ``topic`` deletes the Kafka topic of a table with all its records.
         */
        DropCatalogRequest: {
            /**
             * Kind
             * @default object
             * @enum {string}
             */
            kind: "object" | "database";
            /** Name */
            name: string;
            /**
             * Topic
             * @default false
             */
            topic: boolean;
        };
        DropPlan: {
            code: string;
            grants: number;
            hash: string;
            kind: string;
            mentioned: string[];
            name: string;
            readers: string[];
            revision: number;
            topic: components["schemas"]["TopicSeen"] | null;
            writers: string[];
        };
        Dropped: {
            hash: string;
            name: string;
            topic: string;
        };
        /**
         * EditStreamRequest
         * @description Another version of a stream; what is None stays as in the newest, and its kind always does.
         */
        EditStreamRequest: {
            /** @default null */
            kind: components["schemas"]["StreamKind"] | null;
            /**
             * Launcher
             * @default null
             */
            launcher: string | null;
            /**
             * Note
             * @default
             */
            note: string;
            /**
             * Restarts
             * @default null
             */
            restarts: number | null;
            /**
             * Script
             * @default null
             */
            script: string | null;
            /** Stream */
            stream: string;
            /**
             * Trigger
             * @default null
             */
            trigger: string | null;
        };
        Effect: {
            lost: number | null;
            repeated: number | null;
            why: string;
        };
        EntryAnswer: {
            author: string;
            created_at: number;
            document: {
                [key: string]: unknown;
            };
            may: string[];
            revision: number;
            summary: components["schemas"]["EntrySummary"];
        };
        EntrySet: {
            description: string;
            hash: string;
            name: string;
            owner: string;
        };
        EntrySetPlan: {
            description: string | null;
            hash: string;
            name: string;
            owner: string | null;
            revision: number;
        };
        EntrySummary: {
            changed_at: number;
            description: string;
            kind: string;
            name: string;
            owner: string;
            short: string;
        };
        Estimate: {
            assumed: boolean;
            is_endless: boolean;
            rate: number;
            seconds: number | null;
            size: number;
            waves: number;
            written: number;
        };
        /** @enum {string} */
        Evidence: "map" | "content" | "none";
        ExplainedAnswer: {
            problem: components["schemas"]["Problem"] | null;
            route: components["schemas"]["RouteAnswer"] | null;
            ways: components["schemas"]["TopicRoute"][];
        };
        FileChange: {
            effect: components["schemas"]["FileEffect"];
            new_bytes: number | null;
            old_bytes: number | null;
            path: string;
        };
        /** @enum {string} */
        FileEffect: "change" | "add" | "remove";
        /**
         * FileRequest
         * @description A migration, with the fields of a migration file, which names no other file.
         */
        FileRequest: {
            migration: components["schemas"]["MigrationShape"];
        };
        /**
         * FilterShape
         * @description Which topics are copied; another kind than regex has options of its own.
         */
        FilterShape: {
            /**
             * Exclude
             * @description Regular expressions that win over include; default mm2-.*\.internal, .*\.checkpoints\.internal, heartbeats, .*\.heartbeats.
             * @default null
             */
            exclude: string[] | null;
            /**
             * Include
             * @description Regular expressions that match whole names; default all.
             * @default null
             */
            include: string[] | null;
            /**
             * Kind
             * @description regex, or a kind that an installed package registers.
             * @default regex
             */
            kind: string;
        } & {
            [key: string]: unknown;
        };
        /**
         * FlowQuestions
         * @description A flow, and offsets of source partitions: each is the next record to read.
         */
        FlowQuestions: {
            /**
             * Look
             * @default 500
             */
            look: number;
            /** Questions */
            questions: components["schemas"]["Question"][];
            /**
             * Separator
             * @default .
             */
            separator: string;
            /** Source */
            source: string;
            /**
             * Source Alias
             * @default null
             */
            source_alias: string | null;
            /** Target */
            target: string;
            /**
             * Target Alias
             * @default null
             */
            target_alias: string | null;
        };
        /**
         * FlowReport
         * @description A flow, and a link whose exact positions are told beside MirrorMaker's answers.
         */
        FlowReport: {
            /**
             * Link
             * @default null
             */
            link: string | null;
            /**
             * Look
             * @default 500
             */
            look: number;
            /**
             * Separator
             * @default .
             */
            separator: string;
            /** Source */
            source: string;
            /**
             * Source Alias
             * @default null
             */
            source_alias: string | null;
            /** Target */
            target: string;
            /**
             * Target Alias
             * @default null
             */
            target_alias: string | null;
        };
        ForgottenLane: {
            differs: number;
            lane: string;
            source_from: number;
            source_to: number;
            verified_at_ms: number;
        };
        GiveUpPlan: {
            goes_on: boolean;
            hash: string;
            left_out: string[];
            migration: string;
            run: string;
            steps: string[];
            verb: components["schemas"]["WaveVerb"];
            wave: string;
        };
        /**
         * GiveUpRequest
         * @description What is under way for a wave, and why it is given up.
         *
         *     ``source_lost``, ``target_lost``: that cluster of the migration does not answer, and what only it would hear of is
         *     left out.
         */
        GiveUpRequest: {
            /** Migration */
            migration: string;
            /** Reason */
            reason: string;
            /**
             * Source Lost
             * @default false
             */
            source_lost: boolean;
            /**
             * Target Lost
             * @default false
             */
            target_lost: boolean;
            /** Wave */
            wave: string;
        };
        GoAnswer: {
            starts: {
                [key: string]: number;
            };
            switch: string;
        };
        Grant: {
            principal: string;
            privilege: components["schemas"]["Privilege"];
            securable: string;
        };
        GrantAnswer: {
            at: number;
            author: string;
            principal: string;
            privilege: string;
            securable: string;
        };
        GrantPlan: {
            changes: boolean;
            give: boolean;
            grant: components["schemas"]["Grant"];
            hash: string;
        };
        Granted: {
            changed: boolean;
            given: boolean;
            grant: components["schemas"]["Grant"];
            hash: string;
        };
        Group: {
            commits: {
                [key: string]: components["schemas"]["Commit"];
            };
            kind: components["schemas"]["GroupKind"];
            members: components["schemas"]["Member"][];
            name: string;
            state: components["schemas"]["GroupState"];
        };
        GroupAnswer: {
            claimed: string[];
            group: string;
            members: string[];
        };
        GroupCreated: {
            begins: {
                [key: string]: components["schemas"]["Commit"];
            };
            cluster: string;
            group: string;
            notes: string[];
            start: string;
            undo: string;
        };
        GroupInventory: {
            kind: components["schemas"]["GroupKind"];
            lag: number | null;
            members: components["schemas"]["Member"][];
            name: string;
            state: components["schemas"]["GroupState"];
            topics: string[];
        };
        /** @enum {string} */
        GroupKind: "classic" | "consumer" | "simple" | "share" | "streams" | "connect" | "schemas";
        GroupPlan: {
            failure: string;
            group: string;
            kind: components["schemas"]["GroupKind"];
            moves: components["schemas"]["Move"][];
            refusals: components["schemas"]["Reason"][];
            state: components["schemas"]["GroupState"];
            step: components["schemas"]["GroupStep"];
            target_state: components["schemas"]["GroupState"];
        };
        GroupReport: {
            baseline: components["schemas"]["Baseline"] | null;
            link: string;
            plan: components["schemas"]["GroupPlan"];
            read_at_ms: number;
            round: components["schemas"]["SyncRound"] | null;
            source: components["schemas"]["Group"];
            sync: components["schemas"]["GroupSyncStatus"] | null;
            target: components["schemas"]["Group"] | null;
        };
        GroupRow: {
            advice: string;
            baseline: components["schemas"]["Coverage"] | null;
            group: string;
            in_link: number;
            kind: components["schemas"]["GroupKind"];
            outside: number;
            state: components["schemas"]["GroupState"];
            sync: components["schemas"]["GroupSyncStatus"] | null;
            target_state: components["schemas"]["GroupState"];
        };
        /** @enum {string} */
        GroupState: "empty" | "dead" | "stable" | "preparing_rebalance" | "completing_rebalance" | "assigning" | "reconciling" | "not_ready" | "unknown";
        /** @enum {string} */
        GroupStep: "move" | "in sync" | "refused" | "moved" | "failed";
        GroupSyncStatus: {
            group: string;
            link: string;
            since_ms: number;
            state: components["schemas"]["SyncState"];
            why: string;
        };
        GroupUndo: {
            delete: string[];
            delete_group: boolean;
            done: boolean;
            record: components["schemas"]["UndoRecord"];
            refusals: components["schemas"]["Reason"][];
            restore: {
                [key: string]: components["schemas"]["Commit"];
            };
        };
        GroupsMoved: {
            groups: components["schemas"]["GroupPlan"][];
            hash: string;
            left_out: {
                [key: string]: number;
            };
            link: string;
            took_ms: number;
            undo: string;
        };
        GroupsPlan: {
            groups: components["schemas"]["GroupPlan"][];
            hash: string;
            left_out: {
                [key: string]: number;
            };
            link: string;
            took_ms: number;
        };
        GroupsReport: {
            groups: components["schemas"]["GroupRow"][];
            link: string;
            read_at_ms: number;
            round: components["schemas"]["SyncRound"] | null;
        };
        /**
         * GroupsRequest
         * @description Groups of a link's source by patterns that match whole names; none for all that committed what it copies.
         *
         *     With ``topics``, patterns too, only their commits of these source topics count.
         */
        GroupsRequest: {
            /**
             * Exclude
             * @default []
             */
            exclude: string[];
            /**
             * Groups
             * @default []
             */
            groups: string[];
            /** Link */
            link: string;
            /** Target */
            target: string;
            /**
             * Topics
             * @default []
             */
            topics: string[];
        };
        /**
         * GroupsShape
         * @description Which consumer groups are kept in sync on the target while the link runs.
         */
        GroupsShape: {
            /**
             * Checkpoints
             * @description Publish checkpoints as MirrorMaker 2 does.
             * @default false
             */
            checkpoints: boolean;
            /**
             * Exclude
             * @description Regular expressions that win over include.
             */
            exclude?: string[];
            /**
             * Include
             * @description Regular expressions that match whole names.
             */
            include: string[];
            /**
             * Interval
             * @description How often, from 1s to 1h.
             * @default 10s
             */
            interval: string;
        };
        GroupsUndone: {
            groups: components["schemas"]["GroupUndo"][];
            id: string;
        };
        /**
         * HandedOver
         * @description A client's answer to ``prepare``: next offsets, and how many messages of each partition are in doubt.
         *
         *     ``static_member`` is its ``group.instance.id``, by which it stays in its group.
         */
        HandedOver: {
            /**
             * Positions
             * @default {}
             */
            positions: {
                [key: string]: number;
            };
            /**
             * Static Member
             * @default
             */
            static_member: string;
            /** Switch */
            switch: string;
            /**
             * Uncertain
             * @default {}
             */
            uncertain: {
                [key: string]: number;
            };
        };
        Health: {
            acts: boolean;
            ready: boolean;
            why: string;
        };
        History: {
            samples: components["schemas"]["Sample"][];
        };
        HoldPlan: {
            after: {
                [key: string]: string;
            };
            before: {
                [key: string]: string;
            };
            hash: string;
            migration: string;
        };
        /**
         * HoldRequest
         * @description A migration, or a wave of it, whose switches wait, and why.
         */
        HoldRequest: {
            /** Migration */
            migration: string;
            /** Reason */
            reason: string;
            /**
             * Wave
             * @default null
             */
            wave: string | null;
        };
        /**
         * HooksShape
         * @description Commands of your own, by the names that the service's file has for them (hooks).
         */
        HooksShape: {
            /**
             * Fence
             * @description Stops the producers of the wave; exit code 0 says that it has.
             * @default
             */
            fence: string;
            /**
             * Release
             * @description Lets applications go on, on the target or back on the source.
             * @default
             */
            release: string;
        };
        Hop: {
            code: string;
            considered: components["schemas"]["Considered"][];
            destination: components["schemas"]["Destination"];
            rule: string;
        };
        Impact: {
            groups: {
                [key: string]: [
                    string,
                    string
                ];
            };
            moves: components["schemas"]["ClientMove"][];
            reasons: components["schemas"]["Reason"][];
            staying: number;
        };
        ImportPlan: {
            hash: string;
            tables: components["schemas"]["ImportedTable"][];
        };
        ImportedTable: {
            columns: components["schemas"]["Column"][];
            fit: number;
            name: string;
            notes: string[];
            samples: number;
            topic: string;
        };
        Inspection: {
            backups: string[];
            cluster: string | null;
            copied: string[];
            lags: components["schemas"]["Lag"][];
            newest_write_ms: number;
            page: components["schemas"]["Page"];
            path: string;
            read_at_ms: number;
            unfinished: string | null;
        };
        Inventory: {
            brokers: number;
            clock: components["schemas"]["ClockSkew"] | null;
            cluster_id: string;
            context: string;
            free: {
                [key: string]: number;
            } | null;
            groups: {
                [key: string]: components["schemas"]["GroupInventory"];
            };
            seen_ms: number;
            topics: {
                [key: string]: components["schemas"]["TopicInventory"];
            };
            unavailable: components["schemas"]["Reason"][];
            version: string;
            writers: components["schemas"]["WriterInventory"][] | null;
        };
        IssuedToken: {
            account: string;
            expires_at: number | null;
            id: string;
            name: string;
            token: string;
        };
        /**
         * JobShape
         * @description A stream job whose stored positions are rewritten as its wave is switched.
         */
        JobShape: {
            /**
             * Checkpoint
             * @description Where its checkpoint or savepoint is: a path, or s3://, hdfs:// ...
             */
            checkpoint: string;
            /**
             * Kind
             * @description Whose checkpoint it has.
             * @enum {string}
             */
            kind: "spark" | "flink";
            /**
             * Moved
             * @description Where the rewritten one is put; default, for Spark, in its place.
             * @default
             */
            moved: string;
            /**
             * Name
             * @description Names the job.
             */
            name: string;
        };
        JudgedPosition: {
            committed: number;
            downstream: number | null;
            evidence: components["schemas"]["Evidence"];
            exact: number | null;
            group: string;
            least: number | null;
            most: number | null;
            note: string;
            ours: [
                string,
                number
            ] | null;
            source: string;
            stored: number | null;
            target: string;
            upstream: number | null;
        };
        Lag: {
            end: number | null;
            partition: string;
            records: number | null;
            source: string;
            start: number | null;
            why: string;
        };
        LaneAnswer: {
            lane: components["schemas"]["LaneProgress"];
            problem: components["schemas"]["Problem"] | null;
            read_at_ms: number;
        };
        LaneDecision: {
            decided_at_ms: number;
            generation: number;
            link: string;
            place: [
                string,
                number
            ];
            skip: [
                number,
                number
            ] | null;
            start: number | null;
            why: string;
        };
        LaneForecast: {
            mode: components["schemas"]["LaneMode"];
            partition: number;
            why: string;
        };
        /** @enum {string} */
        LaneMode: "identity" | "mapped";
        /**
         * LaneOrder
         * @description By what lanes are sorted; ``source`` sorts by topic and partition.
         * @enum {string}
         */
        LaneOrder: "source" | "target" | "state" | "lag_records" | "lag_seconds" | "records_per_s" | "bytes_per_s";
        LaneProgress: {
            bytes: number;
            bytes_per_s: number;
            high_watermark: number;
            is_old: boolean;
            knows_source: boolean;
            lag_bytes: number | null;
            lag_records: number | null;
            lag_seconds: number | null;
            lane: string;
            latency_ms: number | null;
            log_start: number;
            mode: components["schemas"]["LaneMode"];
            mode_reason: string;
            owner: string;
            position: number;
            records: number;
            records_per_s: number;
            source: string;
            source_epoch: [
                number,
                number
            ] | null;
            source_seen_ms: number | null;
            stable: number;
            state: components["schemas"]["LaneState"];
            stop_offset: number | null;
            stop_reason: string | null;
            target: string;
            target_end: number;
            target_epoch: [
                number,
                number
            ] | null;
            updated_at_ms: number;
        };
        LaneRanges: {
            lane: string;
            mode: components["schemas"]["LaneMode"];
            ranges: components["schemas"]["StoredRange"][];
            records: number;
            source: string;
            source_end: number;
            source_start: number;
            state: components["schemas"]["LaneState"];
            target: string;
            target_end: number;
            target_start: number;
            updated_at_ms: number;
        };
        /** @enum {string} */
        LaneState: "waiting" | "copying" | "following" | "unreachable" | "paused" | "stopped";
        LaneVerified: {
            differs: [
                number,
                number
            ][];
            lane: string;
            run: string;
            source: [
                number,
                number
            ];
            target: [
                number,
                number
            ];
            verified_at_ms: number;
        };
        LanesPage: {
            lanes: components["schemas"]["LaneProgress"][];
            matching: number;
            offset: number;
            problem: components["schemas"]["Problem"] | null;
            read_at_ms: number;
            total: number;
        };
        LeftOut: {
            group: string;
            reason: string;
            source: string;
        };
        /**
         * Levels
         * @description At which isolation levels the target is read.
         * @enum {string}
         */
        Levels: "both" | "committed";
        /**
         * LimitsShape
         * @description What the migration may cost.
         */
        LimitsShape: {
            /**
             * Job Quiet
             * @description A stream job that has not written its checkpoint for so long is taken for stopped; default a minute, or three of the job's own intervals where that is longer.
             * @default null
             */
            job_quiet: string | null;
            /**
             * Longest Pause
             * @description A switch that would hold applications up for longer is given up.
             * @default 30s
             */
            longest_pause: string;
            /**
             * Most Lag
             * @description Records that a lane may lack as a switch begins.
             * @default 10000
             */
            most_lag: number;
            /**
             * Quiet
             * @description For how long nobody has written when that is taken for proved.
             * @default 2s
             */
            quiet: string;
            /**
             * Source Rate
             * @description Bytes a second that all its links together read, such as 50MB/s.
             * @default null
             */
            source_rate: number | string | null;
        };
        LineageEdge: {
            kind: components["schemas"]["LineageKind"];
            path: string[];
            source_column: string;
            source_table: string;
            target_column: string | null;
            target_table: string;
        };
        LineageFunction: {
            artifact: string;
            function: string;
        };
        LineageInsert: {
            columns: string[];
            edges: components["schemas"]["LineageEdge"][];
            not_understood: string[];
            sources: {
                [key: string]: string[];
            };
            target: string;
        };
        /** @enum {string} */
        LineageKind: "identity" | "transformation" | "aggregation" | "conditional" | "filter" | "join" | "group_by" | "window" | "sort" | "watermark";
        LineageReader: {
            columns: string[];
            is_for_rows: boolean;
            kinds: components["schemas"]["LineageKind"][];
            stream: string;
            target: string;
        };
        LinkAnswer: {
            findings: components["schemas"]["Reason"][];
            plan: components["schemas"]["LinkPlan"] | null;
            record: components["schemas"]["LinkRecord"];
            summary: components["schemas"]["LinkSummary"];
        };
        LinkPlan: {
            batch: number;
            digest: string;
            ends: boolean;
            findings: components["schemas"]["Reason"][];
            lanes: number;
            left_out: string[];
            link: string;
            looked_at_ms: number | null;
            outlived: {
                [key: string]: number | null;
            };
            owner: string;
            planned_at_ms: number;
        };
        LinkRecord: {
            control_topics: {
                [key: string]: string;
            };
            created_at_ms: number;
            origins: string[];
            wanted: components["schemas"]["WantedState"];
        };
        /**
         * LinkRequest
         * @description A link on its target.
         */
        LinkRequest: {
            /** Link */
            link: string;
            /** Target */
            target: string;
        };
        /**
         * LinkShape
         * @description A link from one cluster to another.
         */
        LinkShape: {
            /**
             * Back Of
             * @description A paused link from the target into the source, whose way back this one is: it goes on where that one's copies end, and has its offset map the other way round. Topics and names are that link's.
             * @default null
             */
            back_of: string | null;
            configs?: components["schemas"]["ConfigsShape"];
            filter?: components["schemas"]["FilterShape"];
            /**
             * @description Consumer groups to keep in sync; default none.
             * @default null
             */
            groups: components["schemas"]["GroupsShape"] | null;
            /**
             * Id
             * @description Names the link on its target; default SOURCE-TARGET.
             * @default null
             */
            id: string | null;
            /**
             * Lease Seconds
             * @description How long workers keep their lanes.
             * @default 300
             */
            lease_seconds: number;
            /**
             * Mode
             * @description auto keeps offsets where that is safe.
             * @default auto
             * @enum {string}
             */
            mode: "auto" | "mapped";
            naming?: components["schemas"]["NamingShape"];
            /**
             * Rate Limit
             * @description Bytes a second over all lanes, such as 50MB/s.
             * @default null
             */
            rate_limit: number | string | null;
            /**
             * Replication Factor
             * @description Of target topics; default the target brokers'.
             * @default null
             */
            replication_factor: number | null;
            /**
             * Shared Topics
             * @description Copy also into target topics that another link fills.
             * @default false
             */
            shared_topics: boolean;
            /**
             * Source
             * @description Context of the cluster that is copied.
             */
            source: string;
            /**
             * Start
             * @description earliest, latest, a time with its zone, milliseconds since 1970, group:NAME (what a group of the source has committed when the link is created), given offsets, or @FILE with an offsets file.
             * @default earliest
             */
            start: string | number | components["schemas"]["StartOffsetsShape"];
            /**
             * Target
             * @description Context of the cluster that is copied to.
             */
            target: string;
            /**
             * Version
             * @description Version of this file's format.
             * @default 1
             * @constant
             */
            version: 1;
        };
        /**
         * LinkStopRequest
         * @description A link's runs, and for how many seconds their end is waited for.
         */
        LinkStopRequest: {
            /** Link */
            link: string;
            /** Target */
            target: string;
            /**
             * Wait S
             * @default 60
             */
            wait_s: number;
        };
        LinkSummary: {
            ending: boolean;
            findings: number;
            id: string;
            paused: boolean;
            problem: components["schemas"]["Problem"] | null;
            read_at_ms: number;
            running: boolean;
            runs: string[];
            source: string;
            source_seen_ms: number | null;
            stopped: number;
            target: string;
            totals: components["schemas"]["Totals"];
            trend: components["schemas"]["Trend"];
        };
        LinksAnswer: {
            links: components["schemas"]["LinkSummary"][];
            unread: components["schemas"]["ClusterAnswer"][];
        };
        /**
         * Login
         * @description A token that somebody types into the page.
         */
        Login: {
            /** Token */
            token: string;
        };
        LoginWays: {
            provider: string | null;
        };
        /**
         * Look
         * @description A checkpoint, and the cluster against which its lag is counted, None for no lag.
         */
        Look: {
            /**
             * Cluster
             * @default null
             */
            cluster: string | null;
            /** Path */
            path: string;
        };
        /**
         * MatchShape
         * @description Which clients a rule is for: all that is named must match. A star stands for any text, \* for a star itself.
         */
        MatchShape: {
            /**
             * Client Id
             * @description Its client.id.
             * @default null
             */
            client_id: string | null;
            /**
             * Code
             * @description Cluster code; default any.
             * @default null
             */
            code: string | null;
            /**
             * Group
             * @description Its consumer group.
             * @default null
             */
            group: string | null;
            /**
             * Parameters
             * @description Its own parameters, such as application, job_id, site.
             */
            parameters?: {
                [key: string]: string;
            };
            /**
             * Role
             * @description What the client does; default any.
             * @default null
             */
            role: ("producer" | "consumer") | null;
            /**
             * Topic
             * @description A topic that it reads or writes.
             * @default null
             */
            topic: string | null;
        };
        Me: {
            account: string;
            acts: boolean;
            holder: string;
            instance: string;
            role: string;
            roots: string[];
            version: string;
        };
        Member: {
            client_id: string;
            host: string;
            id: string;
        };
        MembersPlan: {
            add: string[];
            group: string;
            hash: string;
            members: string[];
            remove: string[];
        };
        MembersSet: {
            group: string;
            hash: string;
            members: string[];
        };
        MigrationAnswer: {
            document: {
                [key: string]: unknown;
            };
            migration: components["schemas"]["MigrationSummary"];
            runs: components["schemas"]["WaveRunAnswer"][];
        };
        MigrationPlan: {
            hash: string;
            name: string;
            reasons: components["schemas"]["Reason"][];
            source: string;
            source_id: string;
            target: string;
            target_id: string;
            waves: components["schemas"]["WavePlan"][];
        };
        /**
         * MigrationShape
         * @description Applications that are moved from one cluster to another, in waves.
         */
        MigrationShape: {
            access?: components["schemas"]["AccessShape"];
            /**
             * Approvers
             * @description Accounts, of which one who did not ask for it approves what leads clients, or cannot be undone.
             */
            approvers?: string[];
            copy?: components["schemas"]["CopyShape"];
            limits?: components["schemas"]["LimitsShape"];
            /**
             * Name
             * @description Names the migration, and the links that it makes.
             */
            name: string;
            /**
             * Source
             * @description Context of the cluster that is left.
             */
            source: string;
            /**
             * Source Id
             * @description Cluster id that source must lead to; default whichever.
             * @default
             */
            source_id: string;
            /**
             * Stragglers
             * @description What is done when a client does not pause in time.
             * @default cancel
             * @enum {string}
             */
            stragglers: "cancel" | "leave";
            /**
             * Target
             * @description Context of the cluster that is moved to.
             */
            target: string;
            /**
             * Target Id
             * @description Cluster id that target must lead to; default whichever.
             * @default
             */
            target_id: string;
            /**
             * Version
             * @description Version of this file's format.
             * @default 1
             * @constant
             */
            version: 1;
            /**
             * Waves
             * @description Waves, in the order in which they are switched.
             */
            waves: components["schemas"]["WaveShape"][];
        };
        MigrationStep: {
            kind: components["schemas"]["StepKind"];
            subject: string;
            text: string;
        };
        MigrationSummary: {
            access: {
                [key: string]: components["schemas"]["AccessLook"];
            };
            approvers: string[];
            author: string;
            created_ms: number;
            held: string;
            name: string;
            revision: number;
            source: string;
            target: string;
            throttle: {
                [key: string]: unknown;
            };
            waves: components["schemas"]["WaveAnswer"][];
        };
        MirrorCheckpoint: {
            downstream: number;
            group: string;
            metadata: string;
            partition: string;
            upstream: number;
        };
        MirrorReport: {
            heartbeat_ms: number | null;
            notes: string[];
            rows: components["schemas"]["JudgedPosition"][];
            source_alias: string;
            syncs: number;
            target_alias: string;
        };
        MirroredTopic: {
            configs: {
                [key: string]: string;
            };
            link: string;
            source: string;
            source_id: string;
            target: string;
            target_id: string;
        };
        Move: {
            answer: number | null;
            commit: components["schemas"]["Commit"];
            current: components["schemas"]["Commit"] | null;
            lag: number | null;
            refusals: components["schemas"]["Reason"][];
            source: string;
            target: string | null;
        };
        MoveSummary: {
            groups: string[];
            id: string;
            made_at_ms: number;
            undone: string[];
            what: string;
        };
        /**
         * NamingShape
         * @description What topics are called on the target; another kind than the built-in ones has options of its own.
         */
        NamingShape: {
            /**
             * Kind
             * @description identity, prefix, template, or a kind that a package registers.
             * @default identity
             */
            kind: string;
            /**
             * Separator
             * @description prefix: what stands after the source's name; default a dot.
             * @default null
             */
            separator: string | null;
            /**
             * Template
             * @description template: text with {topic} once and {source}.
             * @default null
             */
            template: string | null;
        } & {
            [key: string]: unknown;
        };
        /**
         * NewAccount
         * @description An account for a person or a program.
         */
        NewAccount: {
            /** Name */
            name: string;
            /**
             * Role
             * @enum {string}
             */
            role: "client" | "viewer" | "operator" | "approver" | "admin";
        };
        /**
         * NewToken
         * @description A token, for ``days``; one of an account other than one's own is made by an admin.
         */
        NewToken: {
            /** Account */
            account: string;
            /**
             * Days
             * @default 90
             */
            days: number;
            /** Name */
            name: string;
        };
        ObjectChange: {
            change: components["schemas"]["ChangeKind"];
            kind: components["schemas"]["ObjectKind"];
            name: string;
            readers: string[];
            reasons: components["schemas"]["Reason"][];
            schema: boolean;
            topic: string;
        };
        /** @enum {string} */
        ObjectKind: "database" | "table" | "view" | "function";
        OffsetPair: {
            answer: number;
            asked: number;
        };
        /** @enum {string} */
        OffsetRole: "next" | "batch start" | "batch end" | "stop" | "initial" | "previous" | "assigned" | "unassigned";
        OpenTransaction: {
            coordinator_epoch: number;
            last_timestamp: number;
            producer_epoch: number;
            producer_id: number;
            start_offset: number;
        };
        OperatorPage: {
            kind: string;
            name: string;
            operator: string;
            partitions: number;
            state_bytes: number | null;
        };
        OperatorThrottle: {
            is_paused: boolean;
            longest_ms: number | null;
            rate: number | null;
            since_ms: number | null;
        };
        /** @enum {string} */
        Outcome: "started" | "done" | "refused" | "failed" | "lost";
        Pace: {
            lease_ms: number;
            report_ms: number;
            version: number;
        };
        Page: {
            engine: string;
            format: components["schemas"]["CheckpointFormat"];
            job: string;
            notes: string[];
            number: number;
            operators: components["schemas"]["OperatorPage"][];
            sinks: string[];
            sources: components["schemas"]["SourcePage"][];
            timeline: components["schemas"]["BatchPage"][];
            uncommitted: number | null;
            versions: {
                [key: string]: string;
            };
            watermark_ms: number | null;
            written_at_ms: number;
        };
        /** @enum {string} */
        Part: "all" | "consumers" | "producers";
        PartPlan: {
            part: components["schemas"]["Part"];
            steps: components["schemas"]["MigrationStep"][];
        };
        PasswordLogin: {
            mechanism: components["schemas"]["SaslMechanism"];
            password: string;
            username: string;
        };
        /** @enum {string} */
        PatternType: "LITERAL" | "PREFIXED";
        PendingDecision: {
            cause: components["schemas"]["Cause"];
            decision: components["schemas"]["LaneDecision"];
            given_up: [
                number,
                number
            ] | null;
            keeps: string | null;
            lane: string;
            means: string;
            position: number;
            source: string;
            target: string;
            twice: [
                number,
                number
            ] | null;
        };
        /**
         * PendingTransactions
         * @description What becomes of a Flink sink's pending transactions, which only the sink's own cluster can commit.
         *
         *     ``keep`` is for a sink whose cluster is not moved.
         * @enum {string}
         */
        PendingTransactions: "refuse" | "discard" | "keep";
        Permission: {
            granted: boolean | null;
            operation: string;
            principal: string;
            resource: string;
        };
        PinnedFunction: {
            name: string;
            statement: string;
        };
        /**
         * PlaceRequest
         * @description Pending decisions of a link: of a topic, or of a partition as ``TOPIC-PARTITION``; None for all.
         */
        PlaceRequest: {
            /**
             * At
             * @default null
             */
            at: number | null;
            /** Link */
            link: string;
            /** Target */
            target: string;
            /**
             * Where
             * @default null
             */
            where: string | null;
        };
        PlanAnswer: {
            account: string;
            command: string;
            files: {
                [key: string]: string;
            };
            hash: string;
            id: string;
            operation: string | null;
            plan: {
                [key: string]: unknown;
            };
            planned_at: number;
            request: {
                [key: string]: unknown;
            };
            role: string;
            subject: string;
            verb: string;
        };
        PlannedQuery: {
            columns: components["schemas"]["QueryColumn"][];
            connector: string;
            line: number;
            mode: string;
            query: string;
            statement: number;
            table: string;
        };
        Position: {
            location: string;
            offset: number | components["schemas"]["SymbolicOffset"] | null;
            partition: string;
            role: components["schemas"]["OffsetRole"];
            source: string;
        };
        PositionChange: {
            moved: components["schemas"]["TranslatedPosition"] | null;
            old: components["schemas"]["Position"];
        };
        /** @enum {string} */
        Privilege: "read" | "write" | "manage";
        Problem: {
            detail: string;
            exit_code: number;
            field: string | null;
            hint: string;
            place: components["schemas"]["ScriptPlace"] | null;
            retryable: boolean;
            status: number;
            title: string;
            type: string;
        };
        Proof: {
            end: number | null;
            new: components["schemas"]["Position"];
            note: string;
            old: components["schemas"]["Position"] | null;
            problem: string;
            start: number | null;
        };
        /**
         * ProofRequest
         * @description A rewrite that was made; ``was`` is the place that it was made from, None for its own backup.
         */
        ProofRequest: {
            /**
             * Drop
             * @default []
             */
            drop: string[];
            /**
             * Dynamic
             * @default {}
             */
            dynamic: {
                [key: string]: components["schemas"]["RewriteClusterShape"];
            };
            /**
             * Links
             * @default []
             */
            links: string[];
            /**
             * Maps
             * @default null
             */
            maps: string | null;
            /**
             * Merge
             * @default []
             */
            merge: string[][];
            /**
             * Offsets
             * @default null
             */
            offsets: {
                [key: string]: {
                    [key: string]: number;
                };
            } | null;
            /** Path */
            path: string;
            /**
             * Rename
             * @default {}
             */
            rename: {
                [key: string]: string;
            };
            /**
             * Sources
             * @default null
             */
            sources: string[] | null;
            /**
             * Split
             * @default {}
             */
            split: {
                [key: string]: components["schemas"]["RewritePartShape"][];
            };
            /**
             * Start
             * @default null
             */
            start: string | null;
            /**
             * Stay
             * @default []
             */
            stay: string[];
            /** @default refuse */
            stop_savepoint: components["schemas"]["StopSavepoint"];
            /**
             * Stopped
             * @default false
             */
            stopped: boolean;
            /** Target */
            target: string;
            /**
             * To
             * @default null
             */
            to: string | null;
            /** @default refuse */
            transactions: components["schemas"]["PendingTransactions"];
            /** @default refuse */
            uncommitted: components["schemas"]["Uncommitted"];
            /**
             * Was
             * @default null
             */
            was: string | null;
        };
        PublishPlan: {
            checkpoints: components["schemas"]["MirrorCheckpoint"][];
            hash: string;
            left_out: components["schemas"]["LeftOut"][];
            notes: string[];
            source_alias: string;
        };
        /**
         * PublishRequest
         * @description A link's map as MirrorMaker 2's topics; ``source_alias`` is what that one would call the source.
         *
         *     ``separator`` is its `replication.policy.separator`.
         */
        PublishRequest: {
            /** Link */
            link: string;
            /**
             * Separator
             * @default .
             */
            separator: string;
            /**
             * Source Alias
             * @default null
             */
            source_alias: string | null;
            /** Target */
            target: string;
        };
        PublishStreamPlan: {
            after: number;
            before: number;
            hash: string;
            runs: number | null;
            stream: string;
        };
        /**
         * PublishStreamRequest
         * @description The version that the next start runs.
         */
        PublishStreamRequest: {
            /** Stream */
            stream: string;
            /** Version */
            version: number;
        };
        Published: {
            checkpoints: components["schemas"]["MirrorCheckpoint"][];
            left_out: components["schemas"]["LeftOut"][];
            notes: string[];
            source_alias: string;
        };
        QueryBack: {
            batch: number;
            query: string;
            records: number | null;
        };
        QueryColumn: {
            name: string;
            type: string;
        };
        /**
         * Question
         * @description One offset of a partition.
         */
        Question: {
            /** Offset */
            offset: number;
            /** Partition */
            partition: number;
            /** Topic */
            topic: string;
        };
        /**
         * Questions
         * @description Offsets of source partitions, with ``reverse`` of target partitions.
         *
         *     An offset is the next record to read; with ``records`` the very record there is meant.
         */
        Questions: {
            /** Questions */
            questions: components["schemas"]["Question"][];
            /**
             * Records
             * @default false
             */
            records: boolean;
            /**
             * Reverse
             * @default false
             */
            reverse: boolean;
        };
        QuotaChange: {
            before: number | null;
            entity: [
                string,
                string | null
            ][];
            name: string;
            value: number | null;
        };
        QuotaNotCarried: {
            quota: [
                [
                    string,
                    string | null
                ][],
                string
            ];
            value: number;
            why: string;
        };
        /**
         * ReaderKind
         * @description ``records``: everything is read as records by Spark's own Kafka source; ``batches``: stored batches first.
         * @enum {string}
         */
        ReaderKind: "records" | "batches";
        Reason: {
            fix: string;
            location?: string;
            severity?: string;
            what: string;
            why?: string;
        };
        /**
         * RebuildRequest
         * @description Source topics and their copies, as ``{source: copy}``, for the link that will adopt their maps.
         */
        RebuildRequest: {
            /**
             * Ignore
             * @default []
             */
            ignore: components["schemas"]["RecordPart"][];
            /** Link */
            link: string;
            /** Source */
            source: string;
            /** Target */
            target: string;
            /** Topics */
            topics: {
                [key: string]: string;
            };
        };
        /**
         * ReconcileRequest
         * @description A wave whose lost cluster is back; ``tail`` is what becomes of records there that were not copied.
         */
        ReconcileRequest: {
            /** Migration */
            migration: string;
            /**
             * Tail
             * @default refuse
             * @enum {string}
             */
            tail: "refuse" | "keep" | "append";
            /** Wave */
            wave: string;
        };
        /**
         * RecordPart
         * @description A part of records that may be left out of the comparison, where the other tool has changed it.
         * @enum {string}
         */
        RecordPart: "timestamps" | "headers";
        /**
         * Registration
         * @description A client that registers, or asks for other topics than before.
         */
        Registration: {
            /**
             * Client Id
             * @default
             */
            client_id: string;
            /** Code */
            code: string;
            /**
             * @default {
             *       "application": "",
             *       "host": "",
             *       "pid": 0,
             *       "sdk": ""
             *     }
             */
            facts: components["schemas"]["ToldFacts"];
            /**
             * Group
             * @default
             */
            group: string;
            /**
             * Parameters
             * @default {}
             */
            parameters: {
                [key: string]: string;
            };
            /**
             * Role
             * @enum {string}
             */
            role: "producer" | "consumer";
            /**
             * Topics
             * @default []
             */
            topics: string[];
        };
        RegistrationAnswer: {
            go: components["schemas"]["GoAnswer"] | null;
            hold: string | null;
            id: string;
            lease_ms: number;
            report_ms: number;
            route: components["schemas"]["RouteAnswer"];
            version: number;
        };
        RehearsalPlan: {
            checkpoints: {
                [key: string]: string;
            };
            groups: {
                [key: string]: string;
            };
            hash: string;
            left_out: string[];
            migration: string;
            topics: {
                [key: string]: string;
            };
            wave: string;
        };
        RehearsalReport: {
            left_out: string[];
            migration: string;
            partitions: number;
            positions: number;
            records: number;
            runs: components["schemas"]["RehearsedRun"][];
            wave: string;
        };
        /**
         * RehearseRequest
         * @description A migration, of which one wave is rehearsed on topics and groups that are made for it.
         */
        RehearseRequest: {
            migration: components["schemas"]["MigrationShape"];
            /** Wave */
            wave: string;
        };
        RehearsedRun: {
            pause_ms: number | null;
            took_ms: number;
            verb: components["schemas"]["WaveVerb"];
        };
        /**
         * ReleaseRequest
         * @description A migration, or a wave of it, whose switches need not wait any more.
         */
        ReleaseRequest: {
            /** Migration */
            migration: string;
            /**
             * Wave
             * @default null
             */
            wave: string | null;
        };
        /** @enum {string} */
        ResourceType: "TOPIC" | "GROUP" | "CLUSTER" | "TRANSACTIONAL_ID" | "DELEGATION_TOKEN" | "USER";
        ResumeOffsets: {
            offsets: {
                [key: string]: number;
            };
            unread: string[];
        };
        /**
         * ResumeRequest
         * @description A migration, or a wave of it, whose links may read again as much as its file allows.
         */
        ResumeRequest: {
            /** Migration */
            migration: string;
            /**
             * Wave
             * @default null
             */
            wave: string | null;
        };
        /**
         * ReverseRequest
         * @description A wave that is led back; ``target_lost``: its target does not answer, and it goes on from what came back.
         *
         *     ``unknown_groups`` is what becomes then of groups of which nothing is known.
         */
        ReverseRequest: {
            /** Migration */
            migration: string;
            /**
             * Target Lost
             * @default false
             */
            target_lost: boolean;
            /**
             * Unknown Groups
             * @default refuse
             * @enum {string}
             */
            unknown_groups: "refuse" | "earliest" | "latest";
            /** Wave */
            wave: string;
        };
        /**
         * RewriteClusterShape
         * @description The new id and servers of a cluster of Flink's DynamicKafkaSource.
         */
        RewriteClusterShape: {
            /** Bootstrap */
            bootstrap: string;
            /** Id */
            id: string;
        };
        /**
         * RewritePartShape
         * @description Some topics of a Spark source that becomes several; the parts have names where the query's sources do.
         */
        RewritePartShape: {
            /**
             * Name
             * @default null
             */
            name: string | null;
            /** Topics */
            topics: string[];
        };
        RewritePlan: {
            changes: components["schemas"]["PositionChange"][];
            files: components["schemas"]["FileChange"][];
            format: components["schemas"]["CheckpointFormat"];
            hash: string;
            names: {
                [key: string]: string;
            };
            newest_write_ms: number;
            notes: string[];
            number: number;
            path: string;
            read_at_ms: number;
            refusals: components["schemas"]["Reason"][];
            repeated: number;
            route: string;
            skipped: number;
            uncounted: number;
            untouched: string[];
        };
        /**
         * RewritePositions
         * @description A rewrite; in place with a backup, or ``to`` a new path.
         *
         *     ``stopped`` says that the job is stopped although it has written lately.
         */
        RewritePositions: {
            /**
             * Drop
             * @default []
             */
            drop: string[];
            /**
             * Dynamic
             * @default {}
             */
            dynamic: {
                [key: string]: components["schemas"]["RewriteClusterShape"];
            };
            /**
             * Links
             * @default []
             */
            links: string[];
            /**
             * Maps
             * @default null
             */
            maps: string | null;
            /**
             * Merge
             * @default []
             */
            merge: string[][];
            /**
             * Offsets
             * @default null
             */
            offsets: {
                [key: string]: {
                    [key: string]: number;
                };
            } | null;
            /** Path */
            path: string;
            /**
             * Rename
             * @default {}
             */
            rename: {
                [key: string]: string;
            };
            /**
             * Sources
             * @default null
             */
            sources: string[] | null;
            /**
             * Split
             * @default {}
             */
            split: {
                [key: string]: components["schemas"]["RewritePartShape"][];
            };
            /**
             * Start
             * @default null
             */
            start: string | null;
            /**
             * Stay
             * @default []
             */
            stay: string[];
            /** @default refuse */
            stop_savepoint: components["schemas"]["StopSavepoint"];
            /**
             * Stopped
             * @default false
             */
            stopped: boolean;
            /** Target */
            target: string;
            /**
             * To
             * @default null
             */
            to: string | null;
            /** @default refuse */
            transactions: components["schemas"]["PendingTransactions"];
            /** @default refuse */
            uncommitted: components["schemas"]["Uncommitted"];
        };
        RewriteReport: {
            notes: string[];
            path: string;
            plan: components["schemas"]["RewritePlan"];
            took_ms: number;
            undo: string | null;
        };
        /** @enum {string} */
        Role: "client" | "viewer" | "operator" | "approver" | "admin";
        /**
         * RollbackRequest
         * @description A version whose table is published again, and why.
         */
        RollbackRequest: {
            /**
             * At Once
             * @default false
             */
            at_once: boolean;
            /** Reason */
            reason: string;
            /**
             * Stragglers
             * @default cancel
             * @enum {string}
             */
            stragglers: "cancel" | "leave";
            /**
             * Timeout S
             * @default 60
             */
            timeout_s: number;
            /** Version */
            version: number;
            /**
             * When Lost
             * @default wait
             * @enum {string}
             */
            when_lost: "wait" | "go";
        };
        Route: {
            bootstrap: string[];
            cluster: string;
            code: string;
            may_read: boolean;
            may_write: boolean;
            rule: string;
            security: components["schemas"]["Security"];
            since: number;
            topics: {
                [key: string]: string;
            };
            version: number;
        };
        RouteAnswer: {
            bootstrap: string[];
            cluster: string;
            code: string;
            may_read: boolean;
            may_write: boolean;
            rule: string;
            security: {
                [key: string]: unknown;
            };
            since: number;
            topics: {
                [key: string]: string;
            };
            version: number;
        };
        RouteQuery: {
            client_id: string;
            code: string;
            group: string;
            parameters: {
                [key: string]: string;
            };
            role: components["schemas"]["ClientRole"];
            topics: string[];
        };
        /**
         * RouteQuestion
         * @description A client as it asks for a cluster; a topic that begins with ``^`` is a regular expression.
         */
        RouteQuestion: {
            /**
             * Client Id
             * @default
             */
            client_id: string;
            /** Code */
            code: string;
            /**
             * Group
             * @default
             */
            group: string;
            /**
             * Parameters
             * @default {}
             */
            parameters: {
                [key: string]: string;
            };
            /**
             * Role
             * @enum {string}
             */
            role: "producer" | "consumer";
            /**
             * Topics
             * @default []
             */
            topics: string[];
        };
        RoutesPlan: {
            base: number;
            clusters: components["schemas"]["Changed"];
            codes: components["schemas"]["Changed"];
            hash: string;
            impact: components["schemas"]["Impact"];
            policy: components["schemas"]["SwitchPolicy"];
            reason: string;
            reasons: components["schemas"]["Reason"][];
            rules: components["schemas"]["Changed"];
            switch: components["schemas"]["SwitchLink"][];
        };
        RoutesPublished: {
            at_ms: number;
            author: string;
            doubts: string[];
            groups: {
                [key: string]: [
                    string,
                    string
                ];
            };
            hash: string;
            moved: number;
            switch: string;
            version: number;
        };
        /**
         * RoutesShape
         * @description Cluster codes, and rules that lead some of their clients elsewhere.
         */
        RoutesShape: {
            /**
             * Clusters
             * @description How applications reach a cluster, where that is not as the service does; paths are theirs.
             */
            clusters?: {
                [key: string]: components["schemas"]["ContextShape"];
            };
            /**
             * Codes
             * @description Cluster codes, by name; those that are not in it are removed.
             */
            codes: {
                [key: string]: components["schemas"]["CodeShape"];
            };
            /**
             * Rules
             * @description Rules, in any order.
             */
            rules?: components["schemas"]["RuleShape"][];
            /**
             * Version
             * @description Version of this file's format.
             * @default 1
             * @constant
             */
            version: 1;
        };
        RuleNotCarried: {
            rule: components["schemas"]["Acl"];
            why: string;
        };
        /**
         * RuleShape
         * @description Of the rules that match a client the one with the highest priority decides.
         */
        RuleShape: {
            /** @description Which clients it is for. */
            match?: components["schemas"]["MatchShape"];
            /**
             * Name
             * @description Names the rule; each has a name of its own.
             */
            name: string;
            /**
             * Priority
             * @description The highest decides; default 0.
             * @default 0
             */
            priority: number;
            /** @description Where it leads them. */
            to: components["schemas"]["DestinationShape"];
        };
        Run: {
            account: string;
            began_at: number;
            created: number;
            ended_at: number | null;
            exit_code: number | null;
            host: string;
            id: string;
            kind: components["schemas"]["RunKind"];
            link: string;
            log: string;
            pid: number;
            target: string;
        };
        /** @enum {string} */
        RunKind: "link" | "verify" | "rebuild";
        RunPlan: {
            hash: string;
            lease_seconds: number;
            link: string;
            master: string;
            source: string;
            target: string;
        };
        RunReport: {
            link: string;
            log: string;
            process: number;
            run: string;
        };
        /** @enum {string} */
        RunState: "running" | "stopped" | "done" | "failed";
        RunStreamPlan: {
            back: components["schemas"]["QueryBack"][];
            checkpoint: string;
            choice: components["schemas"]["StateChoice"];
            hash: string;
            start: string;
            state: components["schemas"]["StreamState"];
            stream: string;
            target: string;
            verb: components["schemas"]["StreamVerb"];
            version: number;
        };
        Sample: {
            at_ms: number;
            bytes_per_s: number;
            lag_bytes: number | null;
            lag_records: number | null;
            lag_seconds: number | null;
            latency_ms: number | null;
            records_per_s: number;
            stopped: number;
        };
        /** @enum {string} */
        SaslMechanism: "PLAIN" | "SCRAM-SHA-256" | "SCRAM-SHA-512" | "OAUTHBEARER";
        /**
         * SaslShape
         * @description Who we are: username and password, a token endpoint, or a token.
         */
        SaslShape: {
            /**
             * Client Id
             * @description OAUTHBEARER: client id at the token endpoint.
             * @default null
             */
            client_id: string | null;
            /**
             * Client Secret Env
             * @description Environment variable with the client secret.
             * @default null
             */
            client_secret_env: string | null;
            /**
             * Client Secret File
             * @description File with the client secret.
             * @default null
             */
            client_secret_file: string | null;
            /**
             * Mechanism
             * @description SASL mechanism.
             * @enum {string}
             */
            mechanism: "PLAIN" | "SCRAM-SHA-256" | "SCRAM-SHA-512" | "OAUTHBEARER";
            /**
             * Password Env
             * @description Environment variable with the password.
             * @default null
             */
            password_env: string | null;
            /**
             * Password File
             * @description File with the password.
             * @default null
             */
            password_file: string | null;
            /**
             * Scope
             * @description OAUTHBEARER: scope to ask for.
             * @default null
             */
            scope: string | null;
            /**
             * Token Env
             * @description OAUTHBEARER: environment variable with a bearer token.
             * @default null
             */
            token_env: string | null;
            /**
             * Token File
             * @description OAUTHBEARER: file with a bearer token, read at each connect.
             * @default null
             */
            token_file: string | null;
            /**
             * Token Url
             * @description OAUTHBEARER: OAuth 2 token endpoint (client credentials).
             * @default null
             */
            token_url: string | null;
            /**
             * Username
             * @description For PLAIN and SCRAM.
             * @default null
             */
            username: string | null;
        };
        SaveArtifactPlan: {
            artifact: string;
            content: components["schemas"]["ArtifactFile"];
            dependencies: components["schemas"]["ArtifactFile"][];
            functions: components["schemas"]["ArtifactFunction"][];
            hash: string;
            is_new: boolean;
            kind: components["schemas"]["ArtifactKind"];
            modules: string[];
            more: number;
            version: number;
        };
        /**
         * SaveArtifactRequest
         * @description An upload by its hash, which is to be a version; a description of None stays as it is.
         */
        SaveArtifactRequest: {
            /** Artifact */
            artifact: string;
            /**
             * Description
             * @default null
             */
            description: string | null;
            /** File */
            file: string;
            /**
             * Note
             * @default
             */
            note: string;
            /** Sha256 */
            sha256: string;
        };
        SaveStreamPlan: {
            artifacts: components["schemas"]["ArtifactPin"][];
            base: number;
            diff: string[];
            hash: string;
            kind: components["schemas"]["StreamKind"];
            queries: components["schemas"]["PlannedQuery"][];
            statements: components["schemas"]["StatementLine"][];
            stream: string;
            version: number;
        };
        SavedArtifact: {
            artifact: string;
            sha256: string;
            version: number;
        };
        SavedCheckpointAnswer: {
            at_ms: number;
            author: string;
            name: string;
            queries: components["schemas"]["SavedQueryLine"][];
            version: number;
        };
        SavedQueryLine: {
            batch: number;
            query: string;
            records: number | null;
        };
        SavedStream: {
            stream: string;
            version: number;
        };
        SchemaAnswer: {
            at: number;
            author: string;
            columns: {
                [key: string]: string;
            }[];
            number: number;
        };
        ScriptPlace: {
            column: number | null;
            excerpt: string;
            line: number | null;
            statement: number | null;
        };
        ScriptProblem: {
            column: number | null;
            condition: string;
            excerpt: string;
            exit_code: number;
            hint: string;
            line: number | null;
            message: string;
            statement: number | null;
        };
        Security: {
            login: components["schemas"]["PasswordLogin"] | components["schemas"]["ClientCredentialsLogin"] | components["schemas"]["TokenLogin"] | null;
            protocol: components["schemas"]["SecurityProtocol"];
            tls: components["schemas"]["Tls"] | null;
        };
        /** @enum {string} */
        SecurityProtocol: "PLAINTEXT" | "SSL" | "SASL_PLAINTEXT" | "SASL_SSL";
        /**
         * SecurityShape
         * @description How the connection is secured.
         */
        SecurityShape: {
            /**
             * Protocol
             * @description Security protocol.
             * @default PLAINTEXT
             * @enum {string}
             */
            protocol: "PLAINTEXT" | "SSL" | "SASL_PLAINTEXT" | "SASL_SSL";
            /**
             * @description For SASL_SSL and SASL_PLAINTEXT.
             * @default null
             */
            sasl: components["schemas"]["SaslShape"] | null;
            /**
             * @description For SSL and SASL_SSL.
             * @default null
             */
            tls: components["schemas"]["TlsShape"] | null;
        };
        SeenStep: {
            doubts: string[];
            fix: string;
            forbidden: boolean;
            kind: components["schemas"]["StepKind"];
            subject: string;
            text: string;
            waits: boolean;
            what: string;
        };
        SetPlan: {
            after: {
                [key: string]: unknown;
            };
            before: {
                [key: string]: unknown;
            };
            hash: string;
            migration: string;
        };
        /**
         * SetRequest
         * @description What becomes of a link's filter, rate limit and continuous sync of groups; what is None stays.
         *
         *     A rate limit of ``none`` takes it away, and ``none`` alone in place of groups ends their sync.
         */
        SetRequest: {
            /**
             * Checkpoints
             * @default null
             */
            checkpoints: boolean | null;
            /**
             * Exclude
             * @default null
             */
            exclude: string[] | null;
            /**
             * Include
             * @default null
             */
            include: string[] | null;
            /** Link */
            link: string;
            /**
             * Rate Limit
             * @default null
             */
            rate_limit: string | null;
            /**
             * Sync Groups
             * @default null
             */
            sync_groups: string[] | null;
            /**
             * Sync Interval
             * @default null
             */
            sync_interval: string | null;
            /** Target */
            target: string;
        };
        SourcePage: {
            kind: string;
            name: string;
            positions: components["schemas"]["Position"][];
            problems: components["schemas"]["Reason"][];
            source: string;
        };
        SourceTransaction: {
            known: components["schemas"]["CoordinatedTransaction"] | null;
            open: components["schemas"]["OpenTransaction"];
            since_ms: number;
            unavailable: string;
        };
        /**
         * StartOffsetsShape
         * @description Given source offsets; a partition that is not named begins at its earliest record.
         */
        StartOffsetsShape: {
            /**
             * Offsets
             * @description topic: {partition: offset}
             */
            offsets: {
                [key: string]: {
                    [key: string]: number;
                };
            };
        };
        StartReport: {
            migration: string;
            runs: components["schemas"]["WaveRunReport"][];
        };
        /**
         * StartRequest
         * @description A comparison; the fields are those of ``verify start``.
         */
        StartRequest: {
            /**
             * Fresh
             * @default false
             */
            fresh: boolean;
            /** @default both */
            levels: components["schemas"]["Levels"];
            /** Link */
            link: string;
            /**
             * Rate Limit
             * @default null
             */
            rate_limit: string | null;
            /** @default records */
            reader: components["schemas"]["ReaderKind"];
            /**
             * Samples
             * @default 20
             */
            samples: number;
            /**
             * Show Values
             * @default false
             */
            show_values: boolean;
            /** Target */
            target: string;
        };
        /**
         * StartStreamRequest
         * @description How a start goes on where its checkpoints are; a link goes on at its positions alone.
         */
        StartStreamRequest: {
            /**
             * Checkpoint
             * @default
             */
            checkpoint: string;
            /**
             * Start
             * @default
             */
            start: string;
            /** @default refuse */
            state: components["schemas"]["StateChoice"];
            /** Stream */
            stream: string;
            /**
             * Target
             * @default
             */
            target: string;
        };
        /**
         * StartWavesRequest
         * @description A migration whose waves are started: these, or all that are not.
         */
        StartWavesRequest: {
            migration: components["schemas"]["MigrationShape"];
            /**
             * Waves
             * @default []
             */
            waves: string[];
        };
        /**
         * StateChoice
         * @description What a start does with a query whose state does not fit or means something else.
         * @enum {string}
         */
        StateChoice: "refuse" | "keep" | "new";
        StatementLine: {
            line: number;
            number: number;
            text: string;
        };
        StepAnswer: {
            ended_ms: number | null;
            kind: string;
            result: {
                [key: string]: unknown;
            };
            state: string;
            subject: string;
            text: string;
        };
        /** @enum {string} */
        StepKind: "look" | "create link" | "run link" | "carry over access rules" | "catch up" | "verify" | "preflight" | "fence producers" | "hold consumers" | "prove that nobody writes" | "pin ends" | "drain" | "pause link" | "fence groups" | "groups empty" | "translate groups" | "translate checkpoints" | "verify what is new" | "prepare reverse link" | "point of no return" | "publish groups" | "publish checkpoints" | "lift fence" | "lift fence of groups" | "publish routes" | "release" | "run reverse link" | "stop link" | "prove that the cluster is gone" | "find the lost tail" | "find groups without the cluster" | "translate checkpoints without the cluster" | "prove that the cluster is back" | "find what was not copied" | "resume link" | "put back what was left" | "delete link" | "purge";
        StopPlan: {
            hash: string;
            link: string;
            runs: string[];
            wait_s: number;
        };
        StopReport: {
            ended: boolean;
            link: string;
            runs: string[];
        };
        /**
         * StopSavepoint
         * @description What becomes of a FlinkKafkaConsumer's positions in a savepoint of ``flink stop``.
         *
         *     They are older than the rest of the savepoint: those of the job's last checkpoint before it. ``translate`` takes
         *     them as they are, so that what was read between is read again.
         * @enum {string}
         */
        StopSavepoint: "refuse" | "translate";
        /**
         * StopStreamRequest
         * @description A stream or a link that is to end.
         */
        StopStreamRequest: {
            /** Stream */
            stream: string;
            /**
             * Target
             * @default
             */
            target: string;
        };
        StoredArtifact: {
            created: number;
            description: string;
            kind: components["schemas"]["ArtifactKind"];
            name: string;
            newest: number;
            owner: string;
        };
        StoredRange: {
            length: number;
            source: number;
            target: number;
        };
        /** @enum {string} */
        Stragglers: "cancel" | "leave";
        StreamAlertAnswer: {
            kind: components["schemas"]["AlertKind"];
            query: string;
            since_ms: number;
            state: components["schemas"]["AlertState"];
            stream: string;
            target: string;
            words: string;
        };
        StreamAlertsAnswer: {
            alerts: components["schemas"]["StreamAlertAnswer"][];
            receivers: string[];
            rules: components["schemas"]["AlertRuleLine"][];
            stream: string;
            target: string;
        };
        /**
         * StreamAlertsRequest
         * @description Settings of alerts, such as lag=50000, lag.for=5m, slow=off, and who is told; None leaves that.
         */
        StreamAlertsRequest: {
            /**
             * Receivers
             * @default null
             */
            receivers: string[] | null;
            /**
             * Settings
             * @default []
             */
            settings: string[];
            /** Stream */
            stream: string;
            /**
             * Target
             * @default
             */
            target: string;
        };
        StreamAnswer: {
            checkpoints: string;
            runs: components["schemas"]["StreamRunAnswer"][];
            stream: components["schemas"]["StreamSummary"];
            versions: components["schemas"]["StreamVersionNote"][];
        };
        /**
         * StreamCheckpointRequest
         * @description Save the checkpoints of a stopped stream under a name, or take such a one away.
         */
        StreamCheckpointRequest: {
            /**
             * Delete
             * @default
             */
            delete: string;
            /**
             * Save
             * @default
             */
            save: string;
            /** Stream */
            stream: string;
        };
        StreamDiffAnswer: {
            after: number;
            before: number;
            lines: string[];
            stream: string;
        };
        /** @enum {string} */
        StreamJobKind: "sql" | "pyspark" | "link";
        /**
         * StreamKind
         * @description The kind of a stream; it is that of its first version, and of all others.
         * @enum {string}
         */
        StreamKind: "sql" | "pyspark";
        StreamLineageAnswer: {
            functions: components["schemas"]["LineageFunction"][];
            hidden: string[];
            inserts: components["schemas"]["LineageInsert"][];
            stream: string;
            told_at_ms: number;
            version: number;
        };
        StreamLogAnswer: {
            is_cut: boolean;
            lines: string[];
            run: string;
        };
        StreamQueryAnswer: {
            batch: number | null;
            batch_ms: number | null;
            connector: string;
            errors: number | null;
            lag: number | null;
            line: number;
            query: string;
            retries: number | null;
            rows_in: number | null;
            rows_out: number | null;
            rows_per_second: number | null;
            state_rows: number | null;
            table: string;
            told_at: string;
            watermark: string | null;
        };
        /**
         * StreamRequest
         * @description A stream.
         */
        StreamRequest: {
            /** Stream */
            stream: string;
        };
        StreamRunAnswer: {
            began_at_ms: number;
            ended_at_ms: number | null;
            exit_code: number | null;
            failed: boolean;
            fence: number;
            host: string;
            id: string;
            launcher: string;
            pid: number;
            stopping_at_ms: number | null;
            version: number;
            why: string;
        };
        StreamSettings: {
            launcher: string;
            restarts: number;
            trigger: string;
        };
        /** @enum {string} */
        StreamState: "draft" | "starting" | "running" | "degraded" | "stopping" | "lost" | "stopped" | "failed";
        StreamSummary: {
            description: string;
            former: number;
            kind: components["schemas"]["StreamJobKind"];
            look: string;
            name: string;
            owner: string;
            published: number;
            queries: components["schemas"]["StreamQueryAnswer"][];
            running_version: number | null;
            since_ms: number | null;
            starts: number;
            state: components["schemas"]["StreamState"];
            target: string;
            wanted: components["schemas"]["StreamWanted"];
            why: string;
        };
        /** @enum {string} */
        StreamVerb: "start" | "stop" | "restart";
        StreamVersionAnswer: {
            artifacts: components["schemas"]["ArtifactPin"][];
            at_ms: number;
            author: string;
            kind: components["schemas"]["StreamKind"];
            note: string;
            number: number;
            script: string;
            settings: components["schemas"]["StreamSettings"];
            stream: string;
        };
        StreamVersionNote: {
            at_ms: number;
            author: string;
            note: string;
            number: number;
            settings: components["schemas"]["StreamSettings"];
        };
        /** @enum {string} */
        StreamWanted: "running" | "stopped";
        SuggestedMigration: {
            document: {
                [key: string]: unknown;
            };
            reasons: components["schemas"]["Reason"][];
            source: components["schemas"]["Inventory"];
        };
        SwitchAnswer: {
            clients: components["schemas"]["SwitchedClient"][];
            links: [
                string,
                string,
                string
            ][];
            switch: components["schemas"]["SwitchSummary"];
        };
        SwitchLink: {
            after: string;
            before: string;
            clients: number;
            link: string;
        };
        SwitchPolicy: {
            at_once: boolean;
            stragglers: components["schemas"]["Stragglers"];
            timeout_ms: number;
            when_lost: components["schemas"]["WhenLost"];
        };
        /**
         * SwitchRequest
         * @description A wave that is switched; ``source_lost``: its source does not answer, and it goes on from what was copied.
         *
         *     ``unknown_groups`` is what becomes then of groups of which nothing is known.
         */
        SwitchRequest: {
            /** Migration */
            migration: string;
            /**
             * Source Lost
             * @default false
             */
            source_lost: boolean;
            /**
             * Unknown Groups
             * @default refuse
             * @enum {string}
             */
            unknown_groups: "refuse" | "earliest" | "latest";
            /** Wave */
            wave: string;
        };
        /** @enum {string} */
        SwitchState: "preparing" | "draining" | "moving" | "published" | "done" | "cancelled";
        SwitchSummary: {
            author: string;
            began_ms: number;
            clients: number;
            deadline_ms: number;
            doubts: string[];
            id: string;
            left: number;
            lost: string[];
            paused: number;
            reason: string;
            state: string;
            uncertain: number;
            version: number;
            why: string;
        };
        SwitchedClient: {
            after: string;
            before: string;
            group: string;
            id: string;
            left: boolean;
            paused: boolean;
            positions: {
                [key: string]: number;
            };
            role: components["schemas"]["ClientRole"];
            starts: {
                [key: string]: number;
            };
            uncertain: {
                [key: string]: number;
            };
            words: string;
        };
        /** @enum {string} */
        SymbolicOffset: "earliest" | "latest" | "committed";
        SyncRound: {
            ended_at_ms: number;
            error: string;
            groups: {
                [key: string]: number;
            };
            interval_ms: number;
            link: string;
            moved: number;
            owner: string;
            read_at_ms: number | null;
            took_ms: number;
        };
        /** @enum {string} */
        SyncState: "in sync" | "waiting" | "blocked" | "active";
        ThrottlePlan: {
            after: components["schemas"]["OperatorThrottle"];
            before: components["schemas"]["OperatorThrottle"];
            ended: string[];
            hash: string;
            migration: string;
            wave: string | null;
        };
        /**
         * ThrottleRequest
         * @description A migration whose links may read at most so much together, or stand still; or those of a wave.
         */
        ThrottleRequest: {
            /** Migration */
            migration: string;
            /**
             * Pause
             * @default false
             */
            pause: boolean;
            /**
             * Rate
             * @default null
             */
            rate: string | null;
            /**
             * Wave
             * @default null
             */
            wave: string | null;
        };
        Tls: {
            ca_file: string | null;
            cert_file: string | null;
            key_file: string | null;
            key_password: string | null;
        };
        /**
         * TlsShape
         * @description PEM files; all are optional, cert_file and key_file go together.
         */
        TlsShape: {
            /**
             * Ca File
             * @description Authorities that the broker's certificate is checked against.
             * @default null
             */
            ca_file: string | null;
            /**
             * Cert File
             * @description Our certificate, for mTLS.
             * @default null
             */
            cert_file: string | null;
            /**
             * Key File
             * @description Our private key, for mTLS.
             * @default null
             */
            key_file: string | null;
            /**
             * Key Password Env
             * @description Environment variable with the private key's password.
             * @default null
             */
            key_password_env: string | null;
            /**
             * Key Password File
             * @description File with the private key's password.
             * @default null
             */
            key_password_file: string | null;
        };
        Token: {
            account: string;
            created_at: number;
            expires_at: number | null;
            id: string;
            name: string;
            revoked_at: number | null;
            used_at: number | null;
        };
        TokenLogin: {
            token: string;
        };
        /**
         * ToldFacts
         * @description What a client tells of itself; its address is that of its connection.
         */
        ToldFacts: {
            /**
             * Application
             * @default
             */
            application: string;
            /**
             * Host
             * @default
             */
            host: string;
            /**
             * Pid
             * @default 0
             */
            pid: number;
            /**
             * Sdk
             * @default
             */
            sdk: string;
        };
        /**
         * ToldReport
         * @description What a client tells again and again; counts are since it began, positions those of partitions that it has.
         */
        ToldReport: {
            /**
             * Bytes
             * @default 0
             */
            bytes: number;
            /**
             * Errors
             * @default 0
             */
            errors: number;
            /**
             * Lag
             * @default null
             */
            lag: number | null;
            /**
             * Last Error
             * @default
             */
            last_error: string;
            /**
             * Positions
             * @default {}
             */
            positions: {
                [key: string]: number;
            };
            /**
             * Records
             * @default 0
             */
            records: number;
            /**
             * Version
             * @default 0
             */
            version: number;
        };
        TopicInventory: {
            configs: {
                [key: string]: string;
            };
            in_force: {
                [key: string]: string;
            };
            name: string;
            partitions: number;
            per_second: number | null;
            records: number;
            replication_factor: number;
            sample: components["schemas"]["BatchSample"];
            size: number | null;
        };
        TopicOptions: {
            partitions: number;
            replication_factor: number;
            retention_ms: number | null;
        };
        TopicPlan: {
            exists: boolean;
            lanes: components["schemas"]["LaneForecast"][];
            partitions: number;
            source: string;
            target: string;
        };
        TopicRoute: {
            hops: components["schemas"]["Hop"][];
            topic: string | null;
        };
        TopicSeen: {
            cluster: string;
            partitions: number;
            records: number;
            retention_ms: number | null;
            topic: string;
        };
        Totals: {
            bytes: number;
            bytes_per_s: number;
            complete: boolean;
            done: number | null;
            eta_seconds: number | null;
            lag_bytes: number | null;
            lag_records: number | null;
            lag_seconds: number | null;
            lanes: number;
            latency_ms: number | null;
            missing: number;
            records: number;
            records_per_s: number;
            states: [
                components["schemas"]["LaneState"],
                number
            ][];
            unknown: number;
        };
        TranslatedPosition: {
            cluster: string;
            note: string;
            offset: number | null;
            partition: string;
            repeated: number | null;
            skipped: number | null;
            unmodified_restart: string;
        };
        Translation: {
            answers: components["schemas"]["Answered"][];
            cluster: string;
            link: string;
        };
        Trend: {
            begin_ms: number;
            records_per_s: (number | null)[];
            step_ms: number;
        };
        TrialAnswer: {
            account: string;
            ahead: number;
            analysed: components["schemas"]["AnalysedAnswer"] | null;
            began_at_ms: number | null;
            columns: components["schemas"]["ColumnAnswer"][];
            ended_at_ms: number | null;
            id: string;
            is_cached: boolean;
            kind: components["schemas"]["TrialKind"];
            limit: components["schemas"]["TrialLimit"] | null;
            limits: components["schemas"]["TrialLimits"];
            made_at_ms: number;
            now_ms: number;
            problems: components["schemas"]["ScriptProblem"][];
            row_count: number;
            rows: unknown[][];
            select: number | null;
            selected: number | null;
            start: string | null;
            state: components["schemas"]["TrialState"];
            stream: string;
            tried: components["schemas"]["TriedQuery"][] | null;
            version: number | null;
            why: string;
        };
        /** @enum {string} */
        TrialKind: "validation" | "preview" | "checkpoints" | "tables";
        /** @enum {string} */
        TrialLimit: "rows" | "bytes" | "seconds";
        TrialLimits: {
            bytes: number;
            memory_bytes: number;
            rows: number;
            seconds: number;
        };
        /**
         * TrialRequest
         * @description A look at a script, or at a version of a stream; without ``version`` at the one that is published.
         *
         *     ``checkpoints`` is a saved version's alone, and ``tables`` without a script: what attached catalogs have, of the
         *     service or of a ``launcher``.
         *     The fields from ``select`` on are a preview's; ``fresh`` wants no earlier answer.
         */
        TrialRequest: {
            /**
             * Fresh
             * @default false
             */
            fresh: boolean;
            /**
             * Kind
             * @enum {string}
             */
            kind: "validation" | "preview" | "checkpoints" | "tables";
            /**
             * Launcher
             * @default null
             */
            launcher: string | null;
            /**
             * Rows
             * @default 100
             */
            rows: number;
            /**
             * Script
             * @default null
             */
            script: string | null;
            /**
             * Seconds
             * @default 60
             */
            seconds: number;
            /**
             * Select
             * @default 0
             */
            select: number;
            /**
             * Start
             * @default null
             */
            start: string | null;
            /**
             * Stream
             * @default null
             */
            stream: string | null;
            /**
             * Version
             * @default null
             */
            version: number | null;
        };
        /** @enum {string} */
        TrialResult: "new" | "same" | "fits" | "changed" | "refused" | "gone";
        /** @enum {string} */
        TrialState: "waiting" | "starting" | "running" | "finished" | "failed" | "stopped";
        TriedQuery: {
            line: number;
            query: string;
            result: components["schemas"]["TrialResult"];
            statement: number;
            why: string[];
        };
        /**
         * Uncommitted
         * @description What becomes of a Spark batch that has begun and was not committed.
         * @enum {string}
         */
        Uncommitted: "refuse" | "translate";
        UndoPlan: {
            groups: components["schemas"]["GroupUndo"][];
            hash: string;
            id: string;
        };
        /**
         * UndoPositions
         * @description The newest rewrite in place of a checkpoint.
         */
        UndoPositions: {
            /** Path */
            path: string;
        };
        UndoRecord: {
            existed: boolean;
            former: {
                [key: string]: components["schemas"]["Commit"] | null;
            };
            group: string;
            id: string;
            made_at_ms: number;
            undone_at_ms: number | null;
            what: string;
            wrote: {
                [key: string]: components["schemas"]["Commit"];
            };
        };
        /**
         * UndoRequest
         * @description A change of groups' positions on a cluster, by the id of its undo record.
         */
        UndoRequest: {
            /** Target */
            target: string;
            /** Undo */
            undo: string;
        };
        UndoRewritePlan: {
            at_ms: number;
            files: components["schemas"]["FileChange"][];
            finished: boolean;
            hash: string;
            id: string;
            path: string;
            refusals: components["schemas"]["Reason"][];
        };
        UndoRewriteReport: {
            plan: components["schemas"]["UndoRewritePlan"];
        };
        UploadAnswer: {
            artifact: string;
            file: string;
            sha256: string;
            size: number;
        };
        VerbAnswer: {
            name: string;
            role: string;
            summary: string;
        };
        VerificationAnswer: {
            lanes: components["schemas"]["LaneVerified"][];
            read_at_ms: number;
            report: {
                [key: string]: unknown;
            } | null;
            run: components["schemas"]["VerifyRun"];
            running: boolean;
        };
        VerificationReport: {
            changed: string[];
            format: components["schemas"]["CheckpointFormat"];
            names: {
                [key: string]: string;
            };
            notes: string[];
            number: number;
            path: string;
            problems: string[];
            proofs: components["schemas"]["Proof"][];
            was: string | null;
        };
        VerifyOptions: {
            fresh: boolean;
            levels: components["schemas"]["Levels"];
            rate_limit: number | null;
            reader: components["schemas"]["ReaderKind"];
            samples: number;
            values: boolean;
        };
        VerifyRun: {
            bytes: number;
            differing: number;
            done: number;
            link: string;
            offsets: number;
            options: {
                [key: string]: unknown;
            };
            pins: {
                [key: string]: [
                    number,
                    number
                ];
            };
            records: number;
            run: string;
            started_at_ms: number;
            state: components["schemas"]["RunState"];
            updated_at_ms: number;
            why: string;
        };
        VerifyStatus: {
            lanes: components["schemas"]["LaneVerified"][];
            read_at_ms: number;
            report: {
                [key: string]: unknown;
            } | null;
            run: components["schemas"]["VerifyRun"];
        };
        VerifyStopPlan: {
            hash: string;
            link: string;
            status: components["schemas"]["VerifyStatus"];
        };
        VerifyStopReport: {
            asked: boolean;
            link: string;
            status: components["schemas"]["VerifyStatus"];
        };
        VersionAnswer: {
            at_ms: number;
            author: string;
            reason: string;
            table: {
                [key: string]: unknown;
            };
            version: number;
        };
        VersionSummary: {
            at_ms: number;
            author: string;
            reason: string;
            version: number;
        };
        WaitPlan: {
            hash: string;
            left: string;
            link: string;
            partitions: number;
            records: number;
        };
        /**
         * WaitRequest
         * @description A link, how many records each lane may still lag, and for how many seconds it is waited for at most.
         */
        WaitRequest: {
            /**
             * Lag
             * @default 0
             */
            lag: number;
            /** Link */
            link: string;
            /** Target */
            target: string;
            /**
             * Timeout S
             * @default 3600
             */
            timeout_s: number;
        };
        WantedState: {
            paused: boolean;
            revision: number;
            spec: {
                [key: string]: unknown;
            };
        };
        WaveAccess: {
            changes: components["schemas"]["AccessDiff"];
            is_proposed: boolean;
            lacks: string[];
            left: components["schemas"]["Acl"][];
            quotas_left: [
                [
                    string,
                    string | null
                ][],
                string
            ][];
            quotas_refused: components["schemas"]["QuotaNotCarried"][];
            refused: components["schemas"]["RuleNotCarried"][];
            wave: string;
        };
        WaveAnswer: {
            at: string;
            doubts: string[];
            fences: string[];
            gone: string;
            groups: string[];
            held: string;
            is_gone: boolean;
            jobs: string[];
            leg: number;
            link: string;
            lost: string;
            name: string;
            not_copied: string;
            order: string;
            part: string;
            readers: string;
            run: components["schemas"]["WaveRunSummary"] | null;
            state: string;
            switched: string[];
            topics: string[];
        };
        /** @enum {string} */
        WaveOrder: "together" | "consumers first" | "producers first";
        WavePlan: {
            estimate: components["schemas"]["Estimate"];
            groups: string[];
            name: string;
            order: components["schemas"]["WaveOrder"];
            reasons: components["schemas"]["Reason"][];
            start: components["schemas"]["MigrationStep"][];
            switches: components["schemas"]["PartPlan"][];
            topics: components["schemas"]["TopicPlan"][];
        };
        /**
         * WaveRequest
         * @description A wave of a migration.
         */
        WaveRequest: {
            /** Migration */
            migration: string;
            /** Wave */
            wave: string;
        };
        WaveRunAnswer: {
            pauses: {
                [key: string]: number;
            };
            run: components["schemas"]["WaveRunSummary"];
            steps: components["schemas"]["StepAnswer"][];
        };
        WaveRunPlan: {
            hash: string;
            leg: number;
            migration: string;
            part: components["schemas"]["Part"];
            reasons: components["schemas"]["Reason"][];
            source: string;
            steps: components["schemas"]["SeenStep"][];
            target: string;
            verb: components["schemas"]["WaveVerb"];
            wave: string;
        };
        WaveRunReport: {
            doubts: string[];
            migration: string;
            pause_ms: number | null;
            pauses: {
                [key: string]: number;
            };
            run: string;
            state: string;
            verb: components["schemas"]["WaveVerb"];
            wave: string;
        };
        WaveRunSummary: {
            at: number;
            author: string;
            began_ms: number;
            cancelled: string;
            has_passed: boolean;
            id: string;
            is_open: boolean;
            leg: number;
            link: string;
            longest_ms: number | null;
            no_return: number | null;
            over_ms: number | null;
            part: string;
            paused_since_ms: number | null;
            paused_until_ms: number | null;
            source: string;
            state: string;
            steps: number;
            target: string;
            waits: string;
            wave: string;
            what: components["schemas"]["WaveVerb"];
            why: string;
        };
        /**
         * WaveShape
         * @description Applications that are switched in one go; what is shared by two of them belongs to one wave.
         */
        WaveShape: {
            /**
             * Clients
             * @description Client ids that are known to belong to it.
             */
            clients?: string[];
            /**
             * Codes
             * @description Cluster codes that its applications name.
             */
            codes?: string[];
            /**
             * Fences
             * @description What keeps producers from writing, one after the other: routes (applications of the SDK pause), acl (the source denies it), hook (a command of yours), observe (it is waited until nobody writes).
             */
            fences?: ("routes" | "acl" | "hook" | "observe")[];
            /**
             * Groups
             * @description Consumer groups, by whole names.
             */
            groups?: string[];
            hooks?: components["schemas"]["HooksShape"];
            /**
             * Jobs
             * @description Stream jobs with checkpoints.
             */
            jobs?: components["schemas"]["JobShape"][];
            /**
             * Name
             * @description Names the wave.
             */
            name: string;
            /**
             * Order
             * @description Who is switched first.
             * @default together
             * @enum {string}
             */
            order: "together" | "consumers first" | "producers first";
            /**
             * Principals
             * @description Whom fence acl denies writing, and readers deny reading, such as User:shop; default whom rules allow to.
             */
            principals?: string[];
            /**
             * Readers
             * @description Members of its groups that read on: they are waited for, or the cluster that is left denies them reading in these groups, and they are waited for until their sessions are over.
             * @default wait
             * @enum {string}
             */
            readers: "wait" | "deny";
            /**
             * Topics
             * @description Topics, by whole names.
             */
            topics: string[];
        };
        /** @enum {string} */
        WaveVerb: "start" | "verify" | "switch" | "reverse" | "reconcile" | "complete" | "cancel";
        Way: {
            conditions: components["schemas"]["Condition"][];
            effect: components["schemas"]["Effect"];
            kind: components["schemas"]["WayKind"];
            notes: string[];
            steps: components["schemas"]["AdviceStep"][];
            title: string;
            waits_s: number | null;
            waits_why: string;
        };
        /** @enum {string} */
        WayKind: "identity lanes" | "rewritten checkpoint" | "named sources" | "new source uid" | "dropped source" | "dynamic source" | "producers first" | "renamed topic" | "new checkpoint";
        /** @enum {string} */
        WhenLost: "wait" | "go";
        Work: {
            account: string;
            began_at: number;
            ended_at: number | null;
            hash: string | null;
            id: string;
            instance: string;
            plan: string | null;
            problem: {
                [key: string]: unknown;
            } | null;
            progress: {
                [key: string]: unknown;
            } | null;
            report: unknown;
            request: {
                [key: string]: unknown;
            };
            state: components["schemas"]["WorkState"];
            told_at: number;
            verb: string;
        };
        /** @enum {string} */
        WorkState: "running" | "done" | "failed" | "lost";
        WriterInventory: {
            last_ms: number;
            open: string[];
            producer_id: number;
            topics: string[];
            transactional_id: string;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    accounts_api_v1_accounts_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Account"][];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    add_api_v1_accounts_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewAccount"];
            };
        };
        responses: {
            /** @description What was asked for */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Account"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    change_api_v1_accounts__name__patch: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangedAccount"];
            };
        };
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Account"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    alerts_api_v1_alerts_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StreamAlertAnswer"][];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    artifacts_api_v1_artifacts_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoredArtifact"][];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_artifacts_delete_api_v1_artifacts_delete_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DeleteArtifactRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_artifacts_save_api_v1_artifacts_save_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SaveArtifactRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    artifact_api_v1_artifacts__name__get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ArtifactAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    upload_api_v1_artifacts__name__post: {
        parameters: {
            query: {
                /** @description Its name. */
                file: string;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/octet-stream": string;
            };
        };
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UploadAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    content_api_v1_artifacts__name__versions__number__content_get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
                number: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    audit_api_v1_audit_get: {
        parameters: {
            query?: {
                limit?: number;
                before?: number | null;
                account?: string | null;
                verb?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditEntry"][];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    entries_api_v1_catalog_get: {
        parameters: {
            query?: {
                database?: string;
                /** @description In names, descriptions and columns. */
                search?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EntrySummary"][];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    attached_catalogs_api_v1_catalog_attached_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AttachedAnswer"][];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_catalog_create_api_v1_catalog_create_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateCatalogRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_catalog_drop_api_v1_catalog_drop_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DropCatalogRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    entry_api_v1_catalog_entries__name__get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A table, or a database where there is none. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EntryAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    versions_api_v1_catalog_entries__name__versions_get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A table, or a database where there is none. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SchemaAnswer"][];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_catalog_grant_api_v1_catalog_grant_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CatalogGrantRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    grants_api_v1_catalog_grants_get: {
        parameters: {
            query?: {
                securable?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GrantAnswer"][];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_catalog_group_api_v1_catalog_group_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CatalogGroupRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    groups_api_v1_catalog_groups_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GroupAnswer"][];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_catalog_import_api_v1_catalog_import_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CatalogImportRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_catalog_revoke_api_v1_catalog_revoke_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CatalogGrantRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_catalog_set_api_v1_catalog_set_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CatalogSetRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    advise_api_v1_checkpoints_advise_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AdviceRequest"];
            };
        };
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AdviceAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    inspect_api_v1_checkpoints_inspect_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Look"];
            };
        };
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Inspection"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_checkpoints_rewrite_api_v1_checkpoints_rewrite_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RewritePositions"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_checkpoints_undo_api_v1_checkpoints_undo_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UndoPositions"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    verify_api_v1_checkpoints_verify_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ProofRequest"];
            };
        };
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VerificationReport"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    clients_api_v1_clients_get: {
        parameters: {
            query?: {
                code?: string | null;
                group?: string | null;
                cluster?: string | null;
                application?: string | null;
                role?: components["schemas"]["ClientRole"] | null;
                behind?: boolean;
                offset?: number;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClientsPage"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    client_api_v1_clients__client_id__get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description 32 hex digits, which the client has drawn. */
                client_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClientAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    register_api_v1_clients__client_id__put: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description 32 hex digits, which the client has drawn. */
                client_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Registration"];
            };
        };
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RegistrationAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    remove_api_v1_clients__client_id__delete: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description 32 hex digits, which the client has drawn. */
                client_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is forgotten */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    ready_api_v1_clients__client_id__ready_post: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description 32 hex digits, which the client has drawn. */
                client_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["HandedOver"];
            };
        };
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Pace"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    report_api_v1_clients__client_id__report_post: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description 32 hex digits, which the client has drawn. */
                client_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ToldReport"];
            };
        };
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Pace"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    watch_api_v1_clients__client_id__watch_get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description 32 hex digits, which the client has drawn. */
                client_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Events: route, refused, prepare, go, cancel, ending */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    clusters_api_v1_clusters_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClustersAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    cluster_api_v1_clusters__target__get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A context of the contexts file. */
                target: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClusterAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    link_api_v1_clusters__target__links__link__get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A context of the contexts file. */
                target: string;
                /** @description A link's id. */
                link: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LinkAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    show_group_api_v1_clusters__target__links__link__group_get: {
        parameters: {
            query: {
                group: string;
            };
            header?: never;
            path: {
                /** @description A context of the contexts file. */
                target: string;
                /** @description A link's id. */
                link: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GroupReport"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list_groups_api_v1_clusters__target__links__link__groups_get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A context of the contexts file. */
                target: string;
                /** @description A link's id. */
                link: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GroupsReport"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    history_api_v1_clusters__target__links__link__history_get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A context of the contexts file. */
                target: string;
                /** @description A link's id. */
                link: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["History"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    lanes_api_v1_clusters__target__links__link__lanes_get: {
        parameters: {
            query?: {
                offset?: number;
                limit?: number;
                sort?: components["schemas"]["LaneOrder"];
                descending?: boolean;
                /** @description A part of the topic or TOPIC-PARTITION. */
                text?: string;
                state?: components["schemas"]["LaneState"][] | null;
                mode?: components["schemas"]["LaneMode"] | null;
            };
            header?: never;
            path: {
                /** @description A context of the contexts file. */
                target: string;
                /** @description A link's id. */
                link: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LanesPage"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    lane_api_v1_clusters__target__links__link__lanes__where__get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A context of the contexts file. */
                target: string;
                /** @description A link's id. */
                link: string;
                /** @description The source's TOPIC-PARTITION. */
                where: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LaneAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    export_api_v1_clusters__target__links__link__maps_get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A context of the contexts file. */
                target: string;
                /** @description A link's id. */
                link: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The maps file, as schemas/maps.schema.json has it */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    export_runs_api_v1_clusters__target__links__link__maps_csv_get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A context of the contexts file. */
                target: string;
                /** @description A link's id. */
                link: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A line for each run */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/csv": string;
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    processes_api_v1_clusters__target__links__link__processes_get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A context of the contexts file. */
                target: string;
                /** @description A link's id. */
                link: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Run"][];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    ranges_api_v1_clusters__target__links__link__ranges_get: {
        parameters: {
            query?: {
                where?: string | null;
            };
            header?: never;
            path: {
                /** @description A context of the contexts file. */
                target: string;
                /** @description A link's id. */
                link: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LaneRanges"][];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    translate_api_v1_clusters__target__links__link__translate_post: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A context of the contexts file. */
                target: string;
                /** @description A link's id. */
                link: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Questions"];
            };
        };
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Translation"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    translate_group_api_v1_clusters__target__links__link__translate_group_get: {
        parameters: {
            query: {
                group: string;
                reverse?: boolean;
            };
            header?: never;
            path: {
                /** @description A context of the contexts file. */
                target: string;
                /** @description A link's id. */
                link: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Translation"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    verified_api_v1_clusters__target__links__link__verification_get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A context of the contexts file. */
                target: string;
                /** @description A link's id. */
                link: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VerificationAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    verification_page_api_v1_clusters__target__links__link__verification_page_get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A context of the contexts file. */
                target: string;
                /** @description A link's id. */
                link: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The report as a page of its own */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    moves_api_v1_clusters__target__moves_get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A context of the contexts file. */
                target: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MoveSummary"][];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    probe_api_v1_clusters__target__probe_post: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A context of the contexts file. */
                target: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ContextProbe"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    events_api_v1_events_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Events: cluster, operation, process, routes, switch, migration, audit */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_groups_baseline_api_v1_groups_baseline_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["GroupsRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_groups_create_api_v1_groups_create_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BeginRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_groups_sync_api_v1_groups_sync_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["GroupsRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_groups_undo_api_v1_groups_undo_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UndoRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    column_api_v1_lineage_get: {
        parameters: {
            query: {
                /** @description shop.orders.id, or kafka://main/t.id */
                column: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ColumnLineageAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    links_api_v1_links_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LinksAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_links_abort_transaction_api_v1_links_abort_transaction_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AbortRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_links_accept_api_v1_links_accept_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PlaceRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_links_create_api_v1_links_create_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_links_delete_api_v1_links_delete_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LinkRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_links_pause_api_v1_links_pause_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LinkRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_links_resume_api_v1_links_resume_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LinkRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_links_run_api_v1_links_run_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LinkRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_links_set_api_v1_links_set_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SetRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_links_stop_api_v1_links_stop_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LinkStopRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_links_wait_api_v1_links_wait_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WaitRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    begin_api_v1_login_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            /** @description To the provider */
            303: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    finish_api_v1_login_done_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            /** @description To the first page */
            303: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    ways_api_v1_login_ways_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoginWays"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    me_api_v1_me_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Me"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    migrations_api_v1_migrations_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MigrationSummary"][];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_migrations_access_api_v1_migrations_access_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["FileRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_migrations_cancel_api_v1_migrations_cancel_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CancelRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_migrations_complete_api_v1_migrations_complete_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WaveRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    suggested_api_v1_migrations_discover_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DiscoverRequest"];
            };
        };
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SuggestedMigration"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_migrations_give_up_api_v1_migrations_give_up_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["GiveUpRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_migrations_hold_api_v1_migrations_hold_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["HoldRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_migrations_reconcile_api_v1_migrations_reconcile_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReconcileRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_migrations_rehearse_api_v1_migrations_rehearse_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RehearseRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_migrations_release_api_v1_migrations_release_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReleaseRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_migrations_resume_api_v1_migrations_resume_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ResumeRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_migrations_reverse_api_v1_migrations_reverse_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReverseRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_migrations_set_api_v1_migrations_set_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["FileRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_migrations_start_api_v1_migrations_start_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["StartWavesRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_migrations_switch_api_v1_migrations_switch_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SwitchRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_migrations_throttle_api_v1_migrations_throttle_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ThrottleRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_migrations_verify_api_v1_migrations_verify_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WaveRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    migration_api_v1_migrations__name__get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MigrationAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    run_api_v1_migrations__name__runs__run_id__get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WaveRunAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_mirrormaker_publish_api_v1_mirrormaker_publish_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PublishRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    compare_api_v1_mirrormaker_report_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["FlowReport"];
            };
        };
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MirrorReport"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    translate_api_v1_mirrormaker_translate_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["FlowQuestions"];
            };
        };
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Translation"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_offsets_rebuild_api_v1_offsets_rebuild_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RebuildRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    operations_api_v1_operations_get: {
        parameters: {
            query?: {
                limit?: number;
                running?: boolean;
                /** @description The last one of the page before. */
                before?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Work"][];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    operation_api_v1_operations__work_id__get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description As it was answered. */
                work_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Work"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_api_v1_plans__plan_id__get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description As it was answered. */
                plan_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    apply_api_v1_plans__plan_id__apply_post: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description As it was answered. */
                plan_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Approval"];
            };
        };
        responses: {
            /** @description It has begun */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Work"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    newest_api_v1_routes_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VersionAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_routes_apply_api_v1_routes_apply_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ApplyRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_routes_cancel_api_v1_routes_cancel_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CancelSwitchRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    explain_api_v1_routes_explain_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RouteQuestion"];
            };
        };
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExplainedAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_routes_rollback_api_v1_routes_rollback_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RollbackRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    versions_api_v1_routes_versions_get: {
        parameters: {
            query?: {
                limit?: number;
                /** @description The last one of the page before. */
                before?: number | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VersionSummary"][];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    version_api_v1_routes_versions__version__get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                version: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VersionAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    sign_in_api_v1_session_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Login"];
            };
        };
        responses: {
            /** @description Signed in */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    sign_out_api_v1_session_delete: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Signed out */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    streams_api_v1_streams_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StreamSummary"][];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_streams_abandon_api_v1_streams_abandon_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["StreamRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_streams_alerts_api_v1_streams_alerts_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["StreamAlertsRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_streams_checkpoint_api_v1_streams_checkpoint_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["StreamCheckpointRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_streams_create_api_v1_streams_create_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateStreamRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_streams_delete_api_v1_streams_delete_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["StreamRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_streams_edit_api_v1_streams_edit_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EditStreamRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_streams_publish_api_v1_streams_publish_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PublishStreamRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_streams_restart_api_v1_streams_restart_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["StartStreamRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_streams_rollback_api_v1_streams_rollback_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["StreamRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_streams_start_api_v1_streams_start_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["StartStreamRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_streams_stop_api_v1_streams_stop_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["StopStreamRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    stream_api_v1_streams__name__get: {
        parameters: {
            query?: {
                /** @description The target of a link, which tells it apart from a stream. */
                target?: string | null;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StreamAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    stream_alerts_api_v1_streams__name__alerts_get: {
        parameters: {
            query?: {
                /** @description The target of a link, which tells it apart from a stream. */
                target?: string | null;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StreamAlertsAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    checkpoints_api_v1_streams__name__checkpoints_get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SavedCheckpointAnswer"][];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    diff_api_v1_streams__name__diff_get: {
        parameters: {
            query: {
                /** @description A version. */
                before: number;
                /** @description Another one; default: the newest. */
                after?: number | null;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StreamDiffAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    lineage_api_v1_streams__name__lineage_get: {
        parameters: {
            query?: {
                /** @description Default: the version that runs. */
                version?: number | null;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StreamLineageAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    events_api_v1_streams__name__lineage_openlineage_get: {
        parameters: {
            query?: {
                /** @description Default: the version that runs. */
                version?: number | null;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: unknown;
                    }[];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    log_api_v1_streams__name__runs__run_id__log_get: {
        parameters: {
            query?: {
                /** @description Only lines with this text, whatever its case. */
                search?: string;
                /** @description At most so many lines, the newest. */
                limit?: number;
                /** @description The target of a link, which tells it apart from a stream. */
                target?: string | null;
            };
            header?: never;
            path: {
                name: string;
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StreamLogAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    whole_log_api_v1_streams__name__runs__run_id__log_whole_get: {
        parameters: {
            query?: {
                /** @description The target of a link, which tells it apart from a stream. */
                target?: string | null;
            };
            header?: never;
            path: {
                name: string;
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The log, from its first line */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    version_api_v1_streams__name__versions__number__get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
                number: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StreamVersionAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    switches_api_v1_switches_get: {
        parameters: {
            query?: {
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SwitchSummary"][];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    switch_api_v1_switches__switch_id__get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                switch_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SwitchAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    tokens_api_v1_tokens_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Token"][];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    issue_api_v1_tokens_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewToken"];
            };
        };
        responses: {
            /** @description What was asked for */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IssuedToken"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    revoke_api_v1_tokens__token_id__delete: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                token_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Token"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    ask_api_v1_trials_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TrialRequest"];
            };
        };
        responses: {
            /** @description One that is under way, or an earlier answer */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TrialAnswer"];
                };
            };
            /** @description It has begun, or waits for its turn */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TrialAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    trial_api_v1_trials__trial_id__get: {
        parameters: {
            query?: {
                /** @description Whether rows are answered. */
                rows?: boolean;
                /** @description So many rows are known already. */
                after?: number;
            };
            header?: never;
            path: {
                /** @description As it was answered. */
                trial_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TrialAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    remove_api_v1_trials__trial_id__delete: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description As it was answered. */
                trial_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It ends, or is forgotten */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    events_api_v1_trials__trial_id__events_get: {
        parameters: {
            query?: never;
            header?: {
                "last-event-id"?: string;
            };
            path: {
                /** @description As it was answered. */
                trial_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Events: trial, rows, ended */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    verbs_api_v1_verbs_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VerbAnswer"][];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_verify_resume_api_v1_verify_resume_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LinkRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_verify_start_api_v1_verify_start_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["StartRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    plan_verify_stop_api_v1_verify_stop_plan_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LinkRequest"];
            };
        };
        responses: {
            /** @description The plan */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanAnswer"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    lives_healthz_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It lives */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    metrics_metrics_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Prometheus text */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    ready_readyz_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It can do its work */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
            /** @description Why not */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Why not */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
}
