// As lines.py.
import java.io.*;
import java.nio.charset.*;
import java.nio.file.*;
import java.util.*;
import java.util.regex.*;
import java.util.stream.*;

class Lines {
    static final Charset UTF_8 = StandardCharsets.UTF_8, LATIN1 = StandardCharsets.ISO_8859_1;
    static String name;
    static List<String> known;

    static void show(String way, List<String> lines) {
        System.out.println(name + "\t" + way + "\t" + lines.stream().filter(l -> !l.isEmpty()).map(l -> "" + (known.indexOf(l) + 1)).collect(Collectors.joining(",")));
    }

    static List<String> scan(Scanner scanner) {
        List<String> lines = new ArrayList<>();
        try (scanner) {
            while (scanner.hasNextLine()) lines.add(scanner.nextLine());
        }
        return lines;
    }

    static List<String> match(String text, int flags) {
        return Pattern.compile("^.*$", Pattern.MULTILINE | flags).matcher(text).results().map(MatchResult::group).toList();
    }

    public static void main(String[] args) throws IOException {
        try (DirectoryStream<Path> paths = Files.newDirectoryStream(Path.of(args[0]), "*.text")) {
            for (Path path : paths) {
                name = path.getFileName().toString().replaceAll("\\.text$", "");
                known = Arrays.asList(Files.readString(path.resolveSibling(name + ".lines"), UTF_8).split("\n"));
                String text = Files.readString(path, UTF_8);
                try (BufferedReader r = Files.newBufferedReader(path, UTF_8)) {
                    show("BufferedReader.lines", r.lines().toList());
                }
                try (LineNumberReader r = new LineNumberReader(new StringReader(text))) {
                    List<String> lines = new ArrayList<>();
                    for (String line; (line = r.readLine()) != null; ) lines.add(line);
                    show("LineNumberReader", lines);
                }
                show("Files.readAllLines", Files.readAllLines(path, UTF_8));
                try (Stream<String> lines = Files.lines(path, UTF_8)) {
                    show("Files.lines", lines.toList());
                }
                show("String.lines", text.lines().toList());
                show("Scanner", scan(new Scanner(path, UTF_8)));
                show("Scanner \\R", scan(new Scanner(text).useDelimiter("\\R")));
                show("Pattern (?m)", match(text, 0));
                show("Pattern (?md)", match(text, Pattern.UNIX_LINES));
                show("split \\R", Arrays.asList(text.split("\\R")));
                show("split \\v", Arrays.asList(text.split("\\v")));
                show("bytes: Scanner ISO-8859-1", scan(new Scanner(path, LATIN1)));
                show("bytes: Files.readAllLines ISO-8859-1", Files.readAllLines(path, LATIN1));
                try (RandomAccessFile r = new RandomAccessFile(path.toFile(), "r")) {
                    List<String> lines = new ArrayList<>();
                    for (String line; (line = r.readLine()) != null; ) lines.add(line);
                    show("bytes: RandomAccessFile", lines);
                }
            }
        }
    }
}
