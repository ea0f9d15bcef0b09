// The streams that a job reads; the old and the dynamic source by name, since not every version has them.

import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.regex.Pattern;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource;
import org.apache.flink.connector.base.source.hybrid.HybridSource;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.KafkaSourceBuilder;
import org.apache.flink.connector.kafka.source.enumerator.KafkaSourceEnumerator;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.connector.kafka.source.reader.deserializer.KafkaRecordDeserializationSchema;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.Collector;
import org.apache.kafka.clients.consumer.ConsumerRecord;

final class Sources {
    private Sources() {}

    @SuppressWarnings("unchecked")
    static DataStream<Event> stream(StreamExecutionEnvironment env, JsonNode spec, WatermarkStrategy<Event> marks)
            throws Exception {
        String kind = spec.path("kind").asText("kafka");
        String uid = spec.get("uid").asText();
        switch (kind) {
            case "kafka":
                return env.fromSource(kafka(spec), marks, uid).uid(uid);
            case "hybrid":
                HybridSource<Event> both = HybridSource.<Event, KafkaSourceEnumerator>builder(kafka(spec.get("first")))
                        .addSource(kafka(spec.get("then")))
                        .build();
                return env.fromSource(both, marks, uid, TypeInformation.of(Event.class)).uid(uid);
            case "numbers":
                return env.fromSource(new NumberSequenceSource(0, 1_000_000), WatermarkStrategy.noWatermarks(), uid)
                        .uid(uid)
                        .map(Event::number);
            default:
                break;
        }
        String name = kind.equals("legacy") ? "OldSource" : "DynamicSource";
        return (DataStream<Event>) Class.forName(name)
                .getDeclaredMethod("stream", StreamExecutionEnvironment.class, JsonNode.class, WatermarkStrategy.class)
                .invoke(null, env, spec, marks);
    }

    static KafkaSource<Event> kafka(JsonNode spec) {
        KafkaSourceBuilder<Event> builder = KafkaSource.<Event>builder()
                .setBootstrapServers(spec.get("bootstrap").asText())
                .setGroupId(spec.path("group").asText("flink"))
                .setStartingOffsets(initializer(spec.path("from").asText("earliest")))
                .setProperties(properties(spec))
                .setDeserializer(new Schema());
        if (spec.has("pattern")) {
            builder.setTopicPattern(Pattern.compile(spec.get("pattern").asText()));
        } else {
            builder.setTopics(texts(spec.get("topics")));
        }
        if (spec.has("bounded")) {
            builder.setBounded(initializer(spec.get("bounded").asText()));
        }
        return builder.build();
    }

    static OffsetsInitializer initializer(String name) {
        switch (name) {
            case "earliest":
                return OffsetsInitializer.earliest();
            case "latest":
                return OffsetsInitializer.latest();
            case "committed":
                return OffsetsInitializer.committedOffsets();
            default:
                throw new IllegalArgumentException(name);
        }
    }

    static Properties properties(JsonNode spec) {
        Properties made = new Properties();
        spec.path("properties").fields().forEachRemaining(e -> made.setProperty(e.getKey(), e.getValue().asText()));
        return made;
    }

    static List<String> texts(JsonNode list) {
        List<String> texts = new ArrayList<>();
        list.forEach(node -> texts.add(node.asText()));
        return texts;
    }

    static final class Schema implements KafkaRecordDeserializationSchema<Event> {
        @Override
        public void deserialize(ConsumerRecord<byte[], byte[]> record, Collector<Event> out) {
            out.collect(Event.of(record));
        }

        @Override
        public TypeInformation<Event> getProducedType() {
            return TypeInformation.of(Event.class);
        }
    }
}
