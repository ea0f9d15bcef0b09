// Follows a source in its own subtask and tells, at every snapshot, the next offset of each partition as the job saw it.

import java.util.TreeMap;
import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.api.common.state.CheckpointListener;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;

public final class Watched extends RichMapFunction<Event, Event> implements CheckpointedFunction, CheckpointListener {
    private final String job;
    private final String source;
    private final long slowMs;
    private transient TreeMap<String, Long> next;

    Watched(String job, String source, long slowMs) {
        this.job = job;
        this.source = source;
        this.slowMs = slowMs;
    }

    @Override
    public void initializeState(FunctionInitializationContext context) {
        next = new TreeMap<>();
    }

    @Override
    public Event map(Event record) throws Exception {
        next.put(record.topic + ":" + record.partition, record.offset + 1);
        if (slowMs > 0) {
            Thread.sleep(slowMs);
        }
        return record;
    }

    @Override
    public void snapshotState(FunctionSnapshotContext context) {
        Say.line(job, "snapshot", "checkpoint", context.getCheckpointId(), "source", source, "next", new TreeMap<>(next));
    }

    @Override
    public void notifyCheckpointComplete(long checkpoint) {
        Say.line(job, "complete", "checkpoint", checkpoint, "source", source);
    }
}
