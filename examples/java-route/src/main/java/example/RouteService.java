package example;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.Iterator;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.Stream;

/**
 * The route service over HTTP, as one client of it: the registration, the reports, and what the client is told.
 *
 * <p>A thread of its own watches the event stream and puts events into a queue. Whoever polls the consumer takes them
 * out between two polls, so that no other thread ever touches the consumer.
 */
final class RouteService {
    static final ObjectMapper JSON = new ObjectMapper();
    private static final long FIRST_WAIT_MS = 500, LONGEST_WAIT_MS = 30_000;

    /** What was told: {@code route}, {@code refused}, {@code prepare}, {@code go} or {@code cancel}. */
    record Event(String kind, JsonNode data) {}

    /** The service understood, and refuses; {@code status} is that of its answer. */
    @SuppressWarnings("serial")
    static final class Refused extends RuntimeException {
        final int status;

        Refused(int status, String detail) {
            super(detail);
            this.status = status;
        }
    }

    final BlockingQueue<Event> events = new LinkedBlockingQueue<>();
    /** How often the service wants to hear of this client. */
    volatile long reportMs = 10_000;
    private final HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(Duration.ofSeconds(10)).build();
    private final String client, token;
    private final ObjectNode registration;
    private volatile boolean closed;

    RouteService(String url, String token, ObjectNode registration) {
        this.client = url + "/api/v1/clients/" + UUID.randomUUID().toString().replace("-", "");
        this.token = token;
        this.registration = registration;
    }

    /** Register, and watch from now on; raises where the service does not answer or refuses. */
    void begin() throws IOException, InterruptedException {
        register();
        var thread = new Thread(this::watch, "route-events");
        thread.setDaemon(true);
        thread.start();
    }

    /** Tell how it goes; a client that the service has forgotten registers again. */
    void report(ObjectNode figures) throws IOException, InterruptedException {
        try {
            ask("POST", "/report", figures);
        } catch (Refused refusal) {
            if (refusal.status != 404) {
                throw refusal;
            }
            register();
        }
    }

    /** Answer a {@code prepare}: all that was read is committed, and these are the next offsets. */
    void ready(String change, ObjectNode positions) throws IOException, InterruptedException {
        ask("POST", "/ready", JSON.createObjectNode().put("switch", change).set("positions", positions));
    }

    /** Be off the list of clients; without it the registration ends by itself, a while later. */
    void end() throws IOException, InterruptedException {
        closed = true;
        ask("DELETE", "", null);
    }

    /** The answer has the route and, other than an event, whether a switch holds the client. */
    private void register() throws IOException, InterruptedException {
        events.put(new Event("route", ask("PUT", "", registration)));
    }

    private void watch() {
        long waitMs = FIRST_WAIT_MS;
        for (boolean isFirst = true; !closed; isFirst = false) {
            try {
                if (!isFirst) {
                    // Drawn, so that of ten thousand clients not all come back at once.
                    Thread.sleep(ThreadLocalRandom.current().nextLong(waitMs));
                    waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS);
                    register(); // what was told meanwhile is in the answer
                }
                var answer = http.send(request("GET", "/watch", null).build(), BodyHandlers.ofLines());
                try (Stream<String> lines = answer.body()) {
                    if (answer.statusCode() == 200) {
                        waitMs = read(lines.iterator());
                    }
                }
            } catch (InterruptedException end) {
                return;
            } catch (IOException | RuntimeException failed) {
                System.err.println("not told, the last route is followed: " + failed.getMessage());
            }
        }
    }

    /** Hand events on until the stream ends; returns how long to wait at most before the next one. */
    private long read(Iterator<String> lines) throws IOException, InterruptedException {
        String kind = "";
        while (!closed && lines.hasNext()) {
            String line = lines.next(); // comments, which begin with a colon, only keep the connection open
            if (line.startsWith("event: ")) {
                kind = line.substring("event: ".length());
            } else if (line.startsWith("data: ")) {
                JsonNode data = JSON.readTree(line.substring("data: ".length()));
                if (kind.equals("ending")) {
                    return Math.max(1, data.path("retry_within_ms").asLong(FIRST_WAIT_MS));
                }
                events.put(new Event(kind, data));
            }
        }
        return FIRST_WAIT_MS;
    }

    private JsonNode ask(String method, String path, JsonNode body) throws IOException, InterruptedException {
        var request = request(method, path, body).timeout(Duration.ofSeconds(10)).build();
        var answer = http.send(request, BodyHandlers.ofString());
        if (answer.statusCode() >= 500) {
            throw new IOException("status " + answer.statusCode());
        }
        JsonNode told = answer.body().isEmpty() ? JSON.missingNode() : JSON.readTree(answer.body());
        if (answer.statusCode() >= 300) {
            throw new Refused(answer.statusCode(), told.path("detail").asText());
        }
        reportMs = told.path("report_ms").asLong(reportMs);
        return told;
    }

    private HttpRequest.Builder request(String method, String path, JsonNode body) {
        var sent = body == null ? BodyPublishers.noBody() : BodyPublishers.ofString(body.toString());
        return HttpRequest.newBuilder(URI.create(client + path)).method(method, sent)
                .header("Authorization", "Bearer " + token).header("Content-Type", "application/json");
    }
}
