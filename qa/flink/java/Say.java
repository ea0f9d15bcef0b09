// Answers and outputs, one JSON object a line on the standard output.

import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;

final class Say {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    private Say() {}

    /** Print the job, what kind of line it is, and pairs of names and values. */
    static void line(String job, String kind, Object... pairs) {
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("job", job);
        line.put("kind", kind);
        for (int at = 0; at < pairs.length; at += 2) {
            line.put(String.valueOf(pairs[at]), pairs[at + 1]);
        }
        String text;
        try {
            text = MAPPER.writeValueAsString(line);
        } catch (Exception error) {
            throw new IllegalStateException(error);
        }
        synchronized (MAPPER) {
            System.out.println(text);
            System.out.flush();
        }
    }
}
