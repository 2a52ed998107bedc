# Prints each content of the JSON lines on standard input in base64.
import base64, orjson, sys
for line in sys.stdin.buffer:
    for item in orjson.loads(line)['items']:
        print(base64.b64encode(item['content'].encode('utf-8')).decode())
