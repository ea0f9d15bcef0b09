// FlinkKafkaConsumer, which connectors had until 3.x.

import java.util.Properties;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.connectors.kafka.FlinkKafkaConsumer;
import org.apache.flink.streaming.connectors.kafka.KafkaDeserializationSchema;
import org.apache.kafka.clients.consumer.ConsumerRecord;

final class OldSource {
    private OldSource() {}

    static DataStream<Event> stream(StreamExecutionEnvironment env, JsonNode spec, WatermarkStrategy<Event> marks) {
        Properties properties = Sources.properties(spec);
        properties.setProperty("bootstrap.servers", spec.get("bootstrap").asText());
        properties.setProperty("group.id", spec.path("group").asText("flink"));
        FlinkKafkaConsumer<Event> consumer =
                new FlinkKafkaConsumer<>(Sources.texts(spec.get("topics")), new Schema(), properties);
        if (spec.path("from").asText("earliest").equals("earliest")) {
            consumer.setStartFromEarliest();
        } else {
            consumer.setStartFromLatest();
        }
        consumer.assignTimestampsAndWatermarks(marks);
        return env.addSource(consumer).uid(spec.get("uid").asText());
    }

    static final class Schema implements KafkaDeserializationSchema<Event> {
        @Override
        public boolean isEndOfStream(Event next) {
            return false;
        }

        @Override
        public Event deserialize(ConsumerRecord<byte[], byte[]> record) {
            return Event.of(record);
        }

        @Override
        public TypeInformation<Event> getProducedType() {
            return TypeInformation.of(Event.class);
        }
    }
}
