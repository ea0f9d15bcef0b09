import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.metastore.HiveMetaStore;
import org.apache.hadoop.hive.metastore.IHMSHandler;
import org.apache.hadoop.hive.metastore.TSetIpAddressProcessor;
import org.apache.hadoop.hive.metastore.txn.TxnDbUtil;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.server.TThreadPoolServer;
import org.apache.thrift.transport.TServerSocket;
import org.apache.thrift.transport.TTransportFactory;

/** Hive's metastore, of the jars that pyspark brings, on loopback alone: its own main class listens for everybody. */
public final class Metastore {
    private Metastore() {}

    /** The directory of its database and of its tables; writes its port once it listens. */
    public static void main(String[] words) throws Exception {
        HiveConf conf = new HiveConf(HiveMetaStore.class);
        conf.set("javax.jdo.option.ConnectionURL", "jdbc:derby:;databaseName=" + words[0] + "/metastore;create=true");
        conf.set("datanucleus.schema.autoCreateAll", "true");
        conf.set("hive.metastore.schema.verification", "false");
        conf.set("datanucleus.connectionPoolingType", "none");
        conf.set("hive.metastore.warehouse.dir", words[0] + "/tables");
        TxnDbUtil.setConfValues(conf);
        TxnDbUtil.prepDb(conf); // the tables of locks, which a commit of Iceberg takes
        IHMSHandler handler =
                HiveMetaStore.newRetryingHMSHandler(new HiveMetaStore.HMSHandler("metastore", conf, false), conf);
        TServerSocket socket = new TServerSocket(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        System.out.println("port " + socket.getServerSocket().getLocalPort());
        System.out.flush();
        new TThreadPoolServer(
                        new TThreadPoolServer.Args(socket)
                                .processor(new TSetIpAddressProcessor<>(handler))
                                .transportFactory(new TTransportFactory())
                                .protocolFactory(new TBinaryProtocol.Factory()))
                .serve();
    }
}
