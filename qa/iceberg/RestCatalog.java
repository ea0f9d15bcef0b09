import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.CatalogUtil;
import org.apache.iceberg.rest.RESTCatalogAdapter;
import org.apache.iceberg.rest.RESTCatalogServlet;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

/** A REST catalog of Iceberg's own classes over its catalog in a database, on loopback alone. */
public final class RestCatalog {
    private RestCatalog() {}

    /** The directory of its tables, the database and its user; writes its port once it listens. */
    public static void main(String[] words) throws Exception {
        var settings = Map.of("type", "jdbc", "warehouse", words[0], "uri", words[1], "jdbc.user", words[2]);
        var catalog = CatalogUtil.buildIcebergCatalog("served", settings, new Configuration());
        ServletContextHandler paths = new ServletContextHandler();
        paths.addServlet(new ServletHolder(new RESTCatalogServlet(new RESTCatalogAdapter(catalog))), "/*");
        Server server = new Server(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        server.setHandler(paths);
        server.start();
        System.out.println("port " + ((ServerConnector) server.getConnectors()[0]).getLocalPort());
        System.out.flush();
        server.join();
    }
}
