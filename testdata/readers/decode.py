# Prints each content of the JSON line on standard input in base64.
import base64, json, sys
for item in json.loads(sys.stdin.buffer.read())['items']:
    print(base64.b64encode(item['content'].encode('utf-8')).decode())
