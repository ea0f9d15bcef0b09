// An exactly-once KafkaSink.

import java.util.Properties;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.connector.base.DeliveryGuarantee;
import org.apache.flink.connector.kafka.sink.KafkaRecordSerializationSchema;
import org.apache.flink.connector.kafka.sink.KafkaSink;
import org.apache.flink.connector.kafka.sink.KafkaSinkBuilder;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.datastream.DataStream;

final class Output {
    private Output() {}

    static void into(DataStream<String> stream, JsonNode spec) throws Exception {
        Properties producer = new Properties();
        producer.setProperty("transaction.timeout.ms", "600000");
        KafkaSinkBuilder<String> builder = KafkaSink.<String>builder()
                .setBootstrapServers(spec.get("bootstrap").asText())
                .setTransactionalIdPrefix(spec.get("prefix").asText())
                .setKafkaProducerConfig(producer)
                .setRecordSerializer(KafkaRecordSerializationSchema.<String>builder()
                        .setTopic(spec.get("topic").asText())
                        .setValueSerializationSchema(new SimpleStringSchema())
                        .build());
        guarantee(builder);
        stream.sinkTo(builder.build()).uid(spec.get("uid").asText());
    }

    // The setter lost a typing error of its name in 1.17.
    private static void guarantee(KafkaSinkBuilder<String> builder) throws Exception {
        for (String name : new String[] {"setDeliveryGuarantee", "setDeliverGuarantee"}) {
            try {
                KafkaSinkBuilder.class.getMethod(name, DeliveryGuarantee.class)
                        .invoke(builder, DeliveryGuarantee.EXACTLY_ONCE);
                return;
            } catch (NoSuchMethodException other) {
                // The other name is tried.
            }
        }
        throw new IllegalStateException("no setter of the delivery guarantee");
    }
}
