// Prints, for each way of reading lines: its name, how many lines equal BEGIN, how many equal END.
import java.io.*;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.util.*;
import java.util.regex.*;

class Lines {
    static String begin, end;

    static void show(String name, List<String> lines) {
        System.out.println(name + "\t" + Collections.frequency(lines, begin) + "\t" + Collections.frequency(lines, end));
    }

    public static void main(String[] args) throws IOException {
        Path path = Path.of(args[0]);
        begin = args[1];
        end = args[2];
        String text = Files.readString(path, StandardCharsets.UTF_8);
        try (BufferedReader r = Files.newBufferedReader(path, StandardCharsets.UTF_8)) {
            show("BufferedReader", r.lines().toList());
        }
        show("Files.readAllLines", Files.readAllLines(path, StandardCharsets.UTF_8));
        show("String.lines", text.lines().toList());
        List<String> scanned = new ArrayList<>();
        try (Scanner s = new Scanner(path, StandardCharsets.UTF_8)) {
            while (s.hasNextLine()) scanned.add(s.nextLine());
        }
        show("Scanner", scanned);
        show("Pattern (?m)", Pattern.compile("(?m)^.*$").matcher(text).results().map(MatchResult::group).toList());
        show("split \\R", Arrays.asList(text.split("\\R")));
    }
}
