# Reads each NAME.text of a directory in every way there is, and prints for each: NAME, the way, and for each line that is not empty which
# line of NAME.lines it equals, 0 for none. A way that begins with "bytes:" decodes wrongly on purpose.
import codecs, csv, email.feedparser, fileinput, glob, io, linecache, os, re, sys
for path in sorted(glob.glob(os.path.join(sys.argv[1], '*.text'))):
    data = open(path, 'rb').read()
    text = data.decode('utf-8')
    known = open(path[:-4] + 'lines', 'rb').read().decode('utf-8').split('\n')[:-1]
    at = {line: i + 1 for i, line in enumerate(known)}
    def show(way, lines):
        lines = [l.decode('utf-8', 'surrogateescape') if isinstance(l, bytes) else l for l in lines]
        lines = [l.rstrip('\r\n') for l in lines]
        print(os.path.basename(path)[:-5], way, ','.join(str(at.get(l, 0)) for l in lines if l), sep='\t')
    show('str.splitlines', text.splitlines())
    show('bytes.splitlines', data.splitlines())
    show('open', open(path, encoding='utf-8'))
    show('open newline=""', open(path, encoding='utf-8', newline=''))
    show('open rb', open(path, 'rb'))
    show('io.StringIO', io.StringIO(text))
    show('io.StringIO newline=None', io.StringIO(text, newline=None))
    show('io.TextIOWrapper', io.TextIOWrapper(io.BytesIO(data), encoding='utf-8'))
    show('codecs reader', codecs.getreader('utf-8')(io.BytesIO(data)))
    show('codecs.open', codecs.open(path, encoding='utf-8'))
    show('codecs readlines', codecs.getreader('utf-8')(io.BytesIO(data)).readlines())
    show('fileinput', fileinput.input(path, encoding='utf-8'))
    show('linecache', linecache.getlines(path))
    show('re (?m)', re.findall(r'(?m)^.*$', text))
    show('re bytes (?m)', re.findall(rb'(?m)^.*$', data))
    show('csv', [row[0] for row in csv.reader(io.StringIO(text, newline=''), delimiter='\1', quoting=csv.QUOTE_NONE) if row])
    mail = email.feedparser.BufferedSubFile()
    mail.push(text)
    mail.close()
    show('email', mail)
    # Readers of other languages, by what they take for a boundary.
    show('UAX #14', re.split('\r\n|[\n\v\f\r\x85\u2028\u2029]', text))
    show('YAML 1.1', re.split('\r\n|[\n\r\x85\u2028\u2029]', text))
    show('.NET ReplaceLineEndings', re.split('\r\n|[\n\f\r\x85\u2028\u2029]', text))
    show('all together', re.split('\r\n|[\0\n\v\f\r\x1c-\x1f\x85\u2028\u2029]', text))
    for encoding in 'latin-1', 'cp1252', 'mac-roman', 'gb18030', 'shift_jis':
        show('bytes: ' + encoding, data.decode(encoding, 'replace').splitlines())
