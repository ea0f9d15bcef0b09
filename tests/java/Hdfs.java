import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.hdfs.server.namenode.NameNode;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;

/** A name node and a data node on loopback; arguments: a directory, the ports of the name node and of its WebHDFS. */
class Hdfs {
    public static void main(String[] arguments) throws Exception {
        Path root = Path.of(arguments[0]);
        Configuration settings = new Configuration();
        settings.set("fs.defaultFS", "hdfs://127.0.0.1:" + arguments[1]);
        settings.set("dfs.namenode.http-address", "127.0.0.1:" + arguments[2]);
        settings.set("dfs.namenode.name.dir", root.resolve("names").toUri().toString());
        settings.set("dfs.datanode.data.dir", root.resolve("blocks").toUri().toString());
        for (String name : new String[] {"address", "http.address", "ipc.address"}) {
            settings.set("dfs.datanode." + name, "127.0.0.1:0");
        }
        settings.set("dfs.datanode.hostname", "127.0.0.1");
        settings.setInt("dfs.replication", 1);
        settings.setBoolean("dfs.permissions.enabled", false);
        settings.setBoolean("dfs.namenode.edits.noeditlogchannelflush", true);
        settings.setInt("dfs.namenode.safemode.extension", 0);
        DefaultMetricsSystem.setMiniClusterMode(true); // it is formatted and started in one process
        NameNode.format(settings);
        NameNode names = NameNode.createNameNode(new String[0], settings);
        DataNode.createDataNode(new String[0], settings);
        System.out.println("ready");
        names.join();
    }
}
