// Makes the calls in given.json with the client of openapi-generator, and prints the answers and samples that the client read.
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.File;
import java.lang.reflect.Method;
import java.lang.reflect.Parameter;
import java.util.Arrays;
import org.openapitools.client.ApiClient;

public class Calls {
    static final String PACKAGE = "org.openapitools.client.";

    public static void main(String[] names) throws Exception {
        ApiClient client = new ApiClient();
        ObjectMapper mapper = client.getObjectMapper();
        JsonNode given = new ObjectMapper().readTree(new File("given.json"));
        client.updateBaseUri(given.get("url").asText());
        client.setRequestInterceptor(
                request -> request.header("Api-Key", given.get("key").asText()).header("User-Agent", given.get("agent").asText()));
        ObjectNode read = mapper.createObjectNode();
        ArrayNode answers = read.putArray("answers");
        ArrayNode samples = read.putArray("samples");
        for (JsonNode call : given.get("calls")) {
            for (String name : names) {
                Class<?> api = Class.forName(PACKAGE + "api." + name);
                for (Method method : api.getMethods()) {
                    if (method.getName().equals(call.get("camel").asText())
                            && Arrays.stream(method.getParameters()).noneMatch(one -> one.getName().equals("headers"))) {
                        Object[] arguments = Arrays.stream(method.getParameters()).map(one -> value(mapper, call, one)).toArray();
                        Object made = api.getConstructor(ApiClient.class).newInstance(client);
                        answers.add((JsonNode) mapper.valueToTree(method.invoke(made, arguments)));
                    }
                }
            }
        }
        for (JsonNode sample : given.get("samples")) {
            Class<?> model = Class.forName(PACKAGE + "model." + sample.get(0).asText());
            samples.add((JsonNode) mapper.valueToTree(mapper.treeToValue(sample.get(1), model)));
        }
        System.out.println(new ObjectMapper().writeValueAsString(read));
    }

    static Object value(ObjectMapper mapper, JsonNode call, Parameter parameter) {
        boolean isBody = parameter.getType().getSimpleName().equals(call.get("model").asText());
        JsonNode value = isBody ? call.get("body") : call.get("parameters").get(parameter.getName());
        return value == null || value.isNull()
                ? null
                : mapper.convertValue(value, mapper.constructType(parameter.getParameterizedType()));
    }
}
