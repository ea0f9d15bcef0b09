package example;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * A consumer that reads where its code's route leads, and goes over to another cluster between two records.
 *
 * <p>What {@code poll} returned is handled and committed before anything else is done, so whenever an event is obeyed
 * the group stands behind a whole record and has committed exactly that.
 */
final class RoutedConsumer {
    private static final Duration POLL = Duration.ofMillis(200), ASK = Duration.ofSeconds(10);

    private final RouteService service;
    private final String group;
    private final List<String> topics;
    private final BiConsumer<String, ConsumerRecord<String, String>> handler;
    private volatile boolean stopped;
    private KafkaConsumer<String, String> consumer;
    private Route route;
    private JsonNode starts = RouteService.JSON.createObjectNode();
    private String held = "";
    private boolean isReadyTold;
    private ObjectNode left = RouteService.JSON.createObjectNode();
    private long records, bytes, errors;

    RoutedConsumer(RouteService service, String group, List<String> topics,
            BiConsumer<String, ConsumerRecord<String, String>> handler) {
        this.service = service;
        this.group = group;
        this.topics = topics;
        this.handler = handler;
    }

    void stop() {
        stopped = true;
    }

    /** Read until stopped, in this thread alone. */
    void run() throws IOException, InterruptedException {
        service.begin();
        for (long reportAt = System.nanoTime(); !stopped;) {
            boolean reads = consumer != null && held.isEmpty();
            var event = service.events.poll(reads ? 0 : POLL.toMillis(), TimeUnit.MILLISECONDS);
            if (event != null) {
                obey(event);
            } else if (reads) {
                readOn();
            }
            if (!held.isEmpty() && !isReadyTold) {
                handOver();
            }
            if (System.nanoTime() >= reportAt) {
                report();
                reportAt = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(service.reportMs);
            }
        }
        leaveAnyway();
        service.end();
    }

    private void readOn() {
        var found = consumer.poll(POLL);
        for (var record : found) {
            handler.accept(route.cluster(), record);
            records++;
            bytes += Math.max(0, record.serializedKeySize()) + Math.max(0, record.serializedValueSize());
        }
        if (!found.isEmpty()) {
            try {
                consumer.commitSync(ASK);
            } catch (KafkaException failed) {
                errors++; // the next commit has these too; or somebody else reads them again
            }
        }
    }

    private void obey(RouteService.Event event) throws IOException {
        JsonNode data = event.data();
        switch (event.kind()) {
            case "route" -> {
                Route told = Route.of(data.get("route"));
                String hold = data.path("hold").asText("");
                if (!hold.isEmpty()) {
                    route = route == null ? told : route; // where it goes if the switch is given up
                    hold(hold);
                } else if (held.isEmpty() || data.has("hold")) { // an event says nothing of switches
                    goOn(told, null);
                }
            }
            case "prepare" -> hold(data.get("switch").asText());
            case "go" -> {
                if (held.isEmpty() || held.equals(data.get("switch").asText())) {
                    goOn(Route.of(data.get("route")), data.get("starts"));
                }
            }
            case "cancel" -> {
                if (held.equals(data.get("switch").asText())) {
                    goOn(route, null);
                }
            }
            default -> System.err.println(event.kind() + ", the last route is followed: " + data);
        }
    }

    private void hold(String change) {
        held = change;
        isReadyTold = false; // told again, the service has not heard the answer
    }

    /** Leave the cluster and say so; whatever fails is tried again, until the switch ends. */
    private void handOver() throws InterruptedException {
        try {
            leave();
            service.ready(held, left);
            isReadyTold = true;
            System.err.println("paused for switch " + held + " at " + left);
        } catch (RouteService.Refused over) {
            isReadyTold = true; // its end comes as an event
        } catch (IOException | KafkaException failed) {
            System.err.println("not paused yet: " + failed.getMessage());
        }
    }

    private void goOn(Route to, JsonNode begin) throws IOException {
        held = "";
        isReadyTold = false;
        if (consumer != null && route.leadsAs(to)) {
            route = to;
            return;
        }
        leaveAnyway();
        left = RouteService.JSON.createObjectNode();
        boolean isHere = route != null && route.cluster().equals(to.cluster());
        starts = begin != null ? begin : isHere ? starts : RouteService.JSON.createObjectNode();
        route = to;
        if (!to.mayRead()) {
            System.err.println("clients of this code may not read on cluster " + to.cluster());
            return;
        }
        var properties = to.properties();
        properties.put("group.id", group);
        properties.put("enable.auto.commit", "false");
        properties.put("auto.offset.reset", "earliest");
        consumer = new KafkaConsumer<>(properties, new StringDeserializer(), new StringDeserializer());
        consumer.subscribe(topics.stream().map(to.topics()::get).toList(), new Begin());
        System.err.println("reading on cluster " + to.cluster() + " by version " + to.version());
    }

    /** Commit what was read, and leave the group; a cluster that takes no commit keeps the consumer there. */
    private void leave() {
        if (consumer != null) {
            left = positions();
            try {
                consumer.commitSync(ASK);
            } catch (CommitFailedException gone) {
                left.removeAll(); // the partitions are another member's by now, which says where it stands
            }
            close();
        }
    }

    /** Without a switch nobody waits for the commit: what it would have said is read again. */
    private void leaveAnyway() {
        try {
            leave();
        } catch (KafkaException failed) {
            System.err.println("not committed on cluster " + route.cluster() + ": " + failed.getMessage());
            close();
        }
    }

    private void close() {
        consumer.close();
        consumer = null;
    }

    private ObjectNode positions() {
        ObjectNode found = RouteService.JSON.createObjectNode();
        for (var partition : consumer.assignment()) {
            found.put(partition.toString(), consumer.position(partition, ASK));
        }
        return found;
    }

    private void report() throws InterruptedException {
        ObjectNode figures = RouteService.JSON.createObjectNode().put("version", route == null ? 0 : route.version())
                .put("records", records).put("bytes", bytes).put("errors", errors);
        try {
            if (consumer != null) {
                figures.set("positions", positions());
                var assigned = consumer.assignment();
                figures.put("lag", assigned.stream().mapToLong(one -> consumer.currentLag(one).orElse(0)).sum());
            }
        } catch (KafkaException away) {
            figures.put("last_error", String.valueOf(away.getMessage()));
        }
        try {
            service.report(figures);
        } catch (IOException | RouteService.Refused failed) {
            System.err.println("not reported: " + failed.getMessage());
        }
    }

    /** Partitions in which the group has committed nothing begin where the switch says. */
    private final class Begin implements ConsumerRebalanceListener {
        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            for (var partition : partitions) {
                JsonNode start = starts.path(partition.toString());
                if (start.isNumber() && consumer.committed(Set.of(partition)).get(partition) == null) {
                    consumer.seek(partition, start.asLong());
                }
            }
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {}
    }
}
