// Counts the records of each key in keyed state and tells every record with its count.

import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

public final class Counter extends KeyedProcessFunction<String, Event, String> {
    private final String job;
    private final long slowMs;
    private transient ValueState<Long> count;

    Counter(String job, long slowMs) {
        this.job = job;
        this.slowMs = slowMs;
    }

    @Override
    public void processElement(Event record, Context context, Collector<String> out) throws Exception {
        if (count == null) {
            count = getRuntimeContext().getState(new ValueStateDescriptor<>("count", Long.class));
        }
        if (slowMs > 0) {
            Thread.sleep(slowMs);
        }
        Long before = count.value();
        long n = before == null ? 1 : before + 1;
        count.update(n);
        Say.line(job, "record", "topic", record.topic, "partition", record.partition, "offset", record.offset,
                "key", record.key, "text", record.text, "n", n);
        out.collect(record.key + "=" + record.text + "#" + n);
    }
}
