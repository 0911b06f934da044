import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Base64;

/** Sends the requests of standard input with the default settings, which offer HTTP/2, on one client. */
class Calls {
    public static void main(String[] arguments) throws Exception {
        HttpClient client = HttpClient.newHttpClient();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = lines.readLine()) != null; ) {
            String[] parts = line.split("\t", -1);
            HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(parts[1]));
            for (String header : parts[2].split("\\|"))
                request.header(header.substring(0, header.indexOf(':')), header.substring(header.indexOf(':') + 1));
            HttpRequest.BodyPublisher body = parts[3].isEmpty()
                ? HttpRequest.BodyPublishers.noBody()
                : HttpRequest.BodyPublishers.ofByteArray(Base64.getDecoder().decode(parts[3]));
            if (arguments.length > 0 && !parts[3].isEmpty()) {
                byte[] content = Base64.getDecoder().decode(parts[3]);
                body = HttpRequest.BodyPublishers.ofInputStream(() -> new java.io.ByteArrayInputStream(content)); // an unknown length, so chunked
            }
            HttpResponse<String> answer = client.send(request.method(parts[0], body).build(), HttpResponse.BodyHandlers.ofString());
            System.out.println(answer.statusCode());
        }
    }
}
