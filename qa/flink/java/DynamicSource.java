// DynamicKafkaSource over clusters that the specification names; connectors have it since 3.1.

import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.connector.kafka.dynamic.metadata.ClusterMetadata;
import org.apache.flink.connector.kafka.dynamic.metadata.KafkaMetadataService;
import org.apache.flink.connector.kafka.dynamic.metadata.KafkaStream;
import org.apache.flink.connector.kafka.dynamic.source.DynamicKafkaSource;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

final class DynamicSource {
    private static final String STREAM = "stream";

    private DynamicSource() {}

    static DataStream<Event> stream(StreamExecutionEnvironment env, JsonNode spec, WatermarkStrategy<Event> marks) {
        Map<String, ClusterMetadata> clusters = new HashMap<>();
        spec.get("clusters").fields().forEachRemaining(entry -> {
            Properties servers = new Properties();
            servers.setProperty("bootstrap.servers", entry.getValue().get("bootstrap").asText());
            Set<String> topics = new HashSet<>(Sources.texts(entry.getValue().get("topics")));
            clusters.put(entry.getKey(), new ClusterMetadata(topics, servers));
        });
        Properties properties = Sources.properties(spec);
        properties.setProperty("group.id", spec.path("group").asText("flink"));
        properties.setProperty("stream-metadata-discovery-interval-ms", "500");
        DynamicKafkaSource<Event> source = DynamicKafkaSource.<Event>builder()
                .setStreamIds(Set.of(STREAM))
                .setKafkaMetadataService(new Service(new KafkaStream(STREAM, clusters)))
                .setStartingOffsets(Sources.initializer(spec.path("from").asText("earliest")))
                .setDeserializer(new Sources.Schema())
                .setProperties(properties)
                .build();
        return env.fromSource(source, marks, spec.get("uid").asText()).uid(spec.get("uid").asText());
    }

    /** One stream, which never changes. */
    static final class Service implements KafkaMetadataService {
        private final KafkaStream stream;

        Service(KafkaStream stream) {
            this.stream = stream;
        }

        @Override
        public Set<KafkaStream> getAllStreams() {
            return Set.of(stream);
        }

        @Override
        public Map<String, KafkaStream> describeStreams(Collection<String> ids) {
            return ids.contains(STREAM) ? Map.of(STREAM, stream) : Map.of();
        }

        @Override
        public boolean isClusterActive(String cluster) {
            return stream.getClusterMetadataMap().containsKey(cluster);
        }

        @Override
        public void close() {}
    }
}
