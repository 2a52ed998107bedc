// Prints each content of the JSON lines on standard input in base64.
import com.google.gson.*;
import java.io.*;
import java.nio.charset.StandardCharsets;
import java.util.Base64;

class Decode {
    public static void main(String[] args) throws IOException {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = lines.readLine()) != null; )
            for (JsonElement item : JsonParser.parseString(line).getAsJsonObject().getAsJsonArray("items"))
                System.out.println(Base64.getEncoder().encodeToString(item.getAsJsonObject().get("content").getAsString().getBytes(StandardCharsets.UTF_8)));
    }
}
