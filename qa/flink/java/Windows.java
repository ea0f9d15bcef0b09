// Event-time windows over the keys: what each held, told when it fires.

import java.time.Duration;
import java.util.TreeSet;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.Collector;

public final class Windows extends ProcessWindowFunction<Event, String, String, TimeWindow> {
    private final String job;

    private Windows(String job) {
        this.job = job;
    }

    static void over(DataStream<Event> records, String job, long millis) throws Exception {
        records.keyBy(record -> record.key).window(tumbling(millis)).process(new Windows(job)).uid("windows");
    }

    @Override
    public void process(String key, Context context, Iterable<Event> records, Collector<String> out) {
        TreeSet<String> texts = new TreeSet<>();
        int n = 0;
        for (Event record : records) {
            texts.add(record.text);
            n++;
        }
        Say.line(job, "window", "start", context.window().getStart(), "key", key, "n", n, "texts", texts);
    }

    // Its parameter is Flink's own Time up to 1.20 and java.time.Duration since 2.0.
    private static TumblingEventTimeWindows tumbling(long millis) throws Exception {
        try {
            return (TumblingEventTimeWindows)
                    TumblingEventTimeWindows.class.getMethod("of", Duration.class).invoke(null, Duration.ofMillis(millis));
        } catch (NoSuchMethodException old) {
            Class<?> time = Class.forName("org.apache.flink.streaming.api.windowing.time.Time");
            Object size = time.getMethod("milliseconds", long.class).invoke(null, millis);
            return (TumblingEventTimeWindows) TumblingEventTimeWindows.class.getMethod("of", time).invoke(null, size);
        }
    }
}
