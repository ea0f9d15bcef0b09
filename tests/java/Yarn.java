import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.MiniYARNCluster;

/** A resource manager and a node manager on loopback; arguments: a directory for the client's settings. */
class Yarn {
    public static void main(String[] arguments) throws Exception {
        YarnConfiguration settings = new YarnConfiguration();
        settings.set("fs.defaultFS", "file:///");
        settings.set("yarn.scheduler.capacity.root.queues", "default");
        settings.set("yarn.scheduler.capacity.root.default.capacity", "100");
        settings.set("yarn.scheduler.capacity.maximum-am-resource-percent", "0.8");
        settings.set("yarn.scheduler.minimum-allocation-mb", "128");
        settings.set("yarn.nodemanager.resource.memory-mb", "6144");
        settings.set("yarn.nodemanager.resource.cpu-vcores", "8");
        settings.set("yarn.nodemanager.pmem-check-enabled", "false");
        settings.set("yarn.nodemanager.vmem-check-enabled", "false");
        settings.set("yarn.nodemanager.disk-health-checker.enable", "false");
        settings.set("yarn.nodemanager.delete.debug-delay-sec", "600");
        settings.set("yarn.resourcemanager.am.max-attempts", "2");
        settings.set("yarn.resourcemanager.am.global.max-attempts", "3");
        settings.set("yarn.log-aggregation-enable", "true");
        settings.set("yarn.nodemanager.remote-app-log-dir", Path.of("logs").toAbsolutePath().toString());
        MiniYARNCluster cluster = new MiniYARNCluster("anabranch", 1, 1, 1);
        cluster.init(settings);
        cluster.start();
        Path client = Path.of(arguments[0]);
        Files.createDirectories(client);
        try (OutputStream file = Files.newOutputStream(client.resolve("yarn-site.xml"))) {
            cluster.getConfig().writeXml(file);
        }
        System.out.println("ready");
        Thread.currentThread().join();
    }
}
