import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.client.utils.KubernetesSerialization;
import java.io.File;
import java.util.Map;

/**
 * Reads manifests as the types that are generated from Kubernetes' OpenAPI, and writes them again: a line for each
 * object, and one for each field that its type does not have.  Argument: a file of YAML documents.
 */
class Manifests {
    public static void main(String[] arguments) throws Exception {
        KubernetesSerialization types = new KubernetesSerialization();
        YAMLFactory yaml = new YAMLFactory();
        var documents = new ObjectMapper(yaml).readValues(yaml.createParser(new File(arguments[0])), JsonNode.class);
        while (documents.hasNext()) {
            JsonNode given = (JsonNode) documents.next();
            Object typed = types.unmarshal(given.toString());
            if (typed.getClass().getSimpleName().startsWith("Generic")) {
                System.out.println("unknown kind " + given.get("apiVersion") + " " + given.get("kind"));
                continue;
            }
            System.out.println(((HasMetadata) typed).getKind() + " " + ((HasMetadata) typed).getMetadata().getName());
            unknown(typed, "");
        }
    }

    /** Names what a value holds beside the fields of its type, wherever it is below. */
    private static void unknown(Object value, String path) throws Exception {
        if (value instanceof Iterable<?> many) {
            for (Object one : many) {
                unknown(one, path);
            }
        } else if (value != null && value.getClass().getName().startsWith("io.fabric8.kubernetes.api.model")) {
            for (var method : value.getClass().getMethods()) {
                if (method.getParameterCount() != 0 || !method.getName().startsWith("get")) {
                    continue;
                }
                if (method.getName().equals("getAdditionalProperties")) {
                    for (Object name : ((Map<?, ?>) method.invoke(value)).keySet()) {
                        System.out.println("unknown field " + path + "/" + name);
                    }
                } else if (!method.getName().equals("getClass")) {
                    unknown(method.invoke(value), path + "/" + method.getName().substring(3).toLowerCase());
                }
            }
        }
    }
}
