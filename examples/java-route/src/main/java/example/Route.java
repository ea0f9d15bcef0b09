package example;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;

/** Where a client is led, as the service tells it: references to secrets, and no secret. */
record Route(String cluster, List<String> bootstrap, JsonNode security, Map<String, String> topics, boolean mayRead,
        int version) {

    static Route of(JsonNode told) {
        List<String> bootstrap = new ArrayList<>();
        told.get("bootstrap").forEach(one -> bootstrap.add(one.asText()));
        Map<String, String> topics = new TreeMap<>();
        told.get("topics").properties().forEach(one -> topics.put(one.getKey(), one.getValue().asText()));
        return new Route(told.get("cluster").asText(), bootstrap, told.get("security"), topics,
                told.get("may_read").asBoolean(), told.get("version").asInt());
    }

    /** Whether a client that follows this route need not change anything to follow the other one. */
    boolean leadsAs(Route other) {
        return new Route(cluster, bootstrap, security, topics, mayRead, other.version).equals(other);
    }

    /** How Kafka's client connects; secrets are read here, on the machine that connects. */
    Properties properties() throws IOException {
        var found = new Properties();
        found.put("bootstrap.servers", String.join(",", bootstrap));
        found.put("security.protocol", security.get("protocol").asText());
        JsonNode tls = security.path("tls"), sasl = security.path("sasl");
        String mechanism = sasl.path("mechanism").asText();
        if (tls.hasNonNull("cert_file") || mechanism.equals("OAUTHBEARER")) {
            throw new IllegalStateException("this example logs in by a password alone");
        }
        if (tls.hasNonNull("ca_file")) {
            found.put("ssl.truststore.type", "PEM");
            found.put("ssl.truststore.location", tls.get("ca_file").asText());
        }
        if (!mechanism.isEmpty()) {
            String module = mechanism.equals("PLAIN") ? "plain.PlainLoginModule" : "scram.ScramLoginModule";
            String password = sasl.hasNonNull("password_env")
                    ? System.getenv(sasl.get("password_env").asText())
                    : Files.readString(Path.of(sasl.get("password_file").asText())).stripTrailing();
            found.put("sasl.mechanism", mechanism);
            found.put("sasl.jaas.config", "org.apache.kafka.common.security." + module + " required username="
                    + quoted(sasl.get("username").asText()) + " password=" + quoted(password) + ";");
        }
        return found;
    }

    private static String quoted(String text) {
        return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"") + '"';
    }
}
