package example;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.net.InetAddress;
import java.util.Arrays;
import java.util.List;

/** Prints each record of some topics: {@code java ... example.Main CODE GROUP TOPIC...}. */
public final class Main {
    public static void main(String[] arguments) throws Exception {
        if (arguments.length < 3) {
            System.err.println("usage: java -cp ... example.Main CODE GROUP TOPIC...");
            System.exit(2);
        }
        List<String> topics = Arrays.asList(arguments).subList(2, arguments.length);
        ObjectNode registration = RouteService.JSON.createObjectNode().put("code", arguments[0])
                .put("role", "consumer").put("group", arguments[1]);
        topics.forEach(registration.putArray("topics")::add);
        registration.putObject("facts").put("application", "java-route").put("sdk", "java example")
                .put("host", InetAddress.getLocalHost().getHostName()).put("pid", ProcessHandle.current().pid());

        String url = System.getenv("ANABRANCH_SERVICE"), token = System.getenv("ANABRANCH_TOKEN");
        var consumer = new RoutedConsumer(new RouteService(url, token, registration), arguments[1], topics,
                (cluster, record) -> System.out.printf("%s\t%s-%d\t%d\t%s%n", cluster, record.topic(),
                        record.partition(), record.offset(), record.value()));
        var main = Thread.currentThread();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            consumer.stop();
            try {
                main.join(30_000); // until it has left its group and is off the service's list
            } catch (InterruptedException end) {
                Thread.currentThread().interrupt();
            }
        }));
        consumer.run();
    }
}
