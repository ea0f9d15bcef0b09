// What Kafka's own client library for MirrorMaker 2 answers; one tab-separated line each.
//   java -cp <jars> MirrorAnswers.java <bootstrap servers> <source alias> <group>...

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.mirror.MirrorClient;
import org.apache.kafka.connect.mirror.RemoteClusterUtils;

public final class MirrorAnswers {
    public static void main(String[] arguments) throws Exception {
        Map<String, Object> config = new HashMap<>();
        config.put("bootstrap.servers", arguments[0]);
        String alias = arguments[1];
        Duration patience = Duration.ofSeconds(30);
        System.out.println("hops\t" + RemoteClusterUtils.replicationHops(config, alias));
        System.out.println("hops of none\t" + RemoteClusterUtils.replicationHops(config, "nobody"));
        System.out.println("upstream\t" + new TreeSet<>(RemoteClusterUtils.upstreamClusters(config)));
        System.out.println("heartbeats\t" + new TreeSet<>(RemoteClusterUtils.heartbeatTopics(config)));
        System.out.println("checkpoints\t" + new TreeSet<>(RemoteClusterUtils.checkpointTopics(config)));
        try (MirrorClient client = new MirrorClient(config)) {
            System.out.println("topics\t" + new TreeSet<>(client.remoteTopics(alias)));
        }
        for (int at = 2; at < arguments.length; at++) {
            print(arguments[at], RemoteClusterUtils.translateOffsets(config, alias, arguments[at], patience));
        }
        RemoteClusterUtils.translateOffsets(config, alias, Pattern.compile(".*"), patience)
                .forEach((group, offsets) -> print("all\t" + group, offsets));
    }

    private static void print(String group, Map<TopicPartition, OffsetAndMetadata> offsets) {
        offsets.forEach((partition, position) -> System.out.println(
                group + "\t" + partition + "\t" + position.offset() + "\t" + position.metadata()));
    }
}
