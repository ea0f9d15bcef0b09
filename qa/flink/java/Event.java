// A record of Kafka as the job sees it: where it was, its key and its text. A plain POJO, so that Flink needs no Kryo.

import java.nio.charset.StandardCharsets;
import org.apache.kafka.clients.consumer.ConsumerRecord;

public class Event {
    public String topic = "";
    public int partition;
    public long offset;
    public String key = "";
    public String text = "";

    public Event() {}

    static Event of(ConsumerRecord<byte[], byte[]> record) {
        Event made = new Event();
        made.topic = record.topic();
        made.partition = record.partition();
        made.offset = record.offset();
        made.key = string(record.key());
        made.text = string(record.value());
        return made;
    }

    static Event number(long number) {
        Event made = new Event();
        made.topic = "numbers";
        made.offset = number;
        made.key = String.valueOf(number % 10);
        made.text = String.valueOf(number);
        return made;
    }

    private static String string(byte[] bytes) {
        return bytes == null ? "" : new String(bytes, StandardCharsets.UTF_8);
    }
}
