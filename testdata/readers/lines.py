# Prints, for each way of reading lines: its name, how many lines equal BEGIN, how many equal END.
import codecs, io, re, sys
path, begin, end = sys.argv[1:4]
data = open(path, 'rb').read()
text = data.decode('utf-8')
def show(name, lines):
    lines = [l.decode('utf-8', 'surrogateescape') if isinstance(l, bytes) else l for l in lines]
    lines = [l.rstrip('\r\n') for l in lines]
    print(name, lines.count(begin), lines.count(end), sep='\t')
show('str.splitlines', text.splitlines())
show('bytes.splitlines', data.splitlines())
show('open', open(path, encoding='utf-8'))
show('open newline=""', open(path, encoding='utf-8', newline=''))
show('open rb', open(path, 'rb'))
show('io.StringIO', io.StringIO(text))
show('codecs', codecs.getreader('utf-8')(io.BytesIO(data)))
show('re (?m)', re.findall(r'(?m)^.*$', text))
show('UAX #14', re.split('\r\n|[\n\v\f\r\x85\u2028\u2029]', text))
show('YAML 1.1', re.split('\r\n|[\n\r\x85\u2028\u2029]', text))
show('ISO-8859-1', data.decode('latin-1').splitlines())
