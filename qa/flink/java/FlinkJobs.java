// Runs Flink jobs in MiniClusters as lines of JSON on the standard input ask for, until that ends.
//   {"verb": "start", "job": NAME, "conf": {...}, "parallelism": N, "sources": [...], "slow_ms": N, "window_ms": N, "sink": {...}}
//   {"verb": "stop", "job": NAME, "to": DIRECTORY, "format": "CANONICAL" | "NATIVE"}     stop with a savepoint
//   {"verb": "cancel", "job": NAME}

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

public final class FlinkJobs {
    private static final Map<String, JobClient> RUNNING = new HashMap<>();

    private FlinkJobs() {}

    public static void main(String[] arguments) throws Exception {
        ObjectMapper mapper = new ObjectMapper();
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            JsonNode order = mapper.readTree(line);
            String job = order.get("job").asText();
            try {
                obey(order, job);
            } catch (Throwable error) {
                Say.line(job, "refused", "verb", order.get("verb").asText(), "error", trace(error));
            }
        }
        // Half-stopped MiniClusters keep threads that are no daemons.
        Runtime.getRuntime().halt(0);
    }

    private static void obey(JsonNode order, String job) throws Exception {
        switch (order.get("verb").asText()) {
            case "start":
                start(order, job);
                break;
            case "stop":
                SavepointFormatType format = SavepointFormatType.valueOf(order.path("format").asText("CANONICAL"));
                RUNNING.get(job).stopWithSavepoint(false, order.get("to").asText(), format).whenComplete((path, error) -> {
                    if (error == null) {
                        Say.line(job, "savepoint", "path", path);
                    } else {
                        Say.line(job, "refused", "verb", "stop", "error", trace(error));
                    }
                });
                break;
            case "cancel":
                RUNNING.get(job).cancel();
                break;
            default:
                throw new IllegalArgumentException(order.toString());
        }
    }

    private static void start(JsonNode order, String job) throws Exception {
        Configuration conf = new Configuration();
        order.path("conf").fields().forEachRemaining(e -> conf.setString(e.getKey(), e.getValue().asText()));
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment(conf);
        env.setParallelism(order.path("parallelism").asInt(1));
        long window = order.path("window_ms").asLong(0);
        WatermarkStrategy<Event> marks = window == 0
                ? WatermarkStrategy.noWatermarks()
                : WatermarkStrategy.forBoundedOutOfOrderness(Duration.ZERO);
        DataStream<Event> all = null;
        for (JsonNode source : order.get("sources")) {
            String uid = source.get("uid").asText();
            DataStream<Event> watched = Sources.stream(env, source, marks)
                    .map(new Watched(job, uid, source.path("slow_ms").asLong(0)))
                    .uid(uid + "-watched");
            all = all == null ? watched : all.union(watched);
        }
        SingleOutputStreamOperator<String> counted = all.keyBy(record -> record.key)
                .process(new Counter(job, order.path("slow_ms").asLong(0)))
                .uid("counter");
        if (window > 0) {
            Windows.over(all, job, window);
        }
        if (order.has("sink")) {
            Output.into(counted, order.get("sink"));
        }
        JobClient client = env.executeAsync(job);
        RUNNING.put(job, client);
        Say.line(job, "started", "id", client.getJobID().toString());
        client.getJobExecutionResult().whenComplete((result, error) ->
                Say.line(job, "ended", "error", error == null ? null : trace(error)));
    }

    private static String trace(Throwable error) {
        StringWriter text = new StringWriter();
        error.printStackTrace(new PrintWriter(text));
        return text.toString();
    }
}
