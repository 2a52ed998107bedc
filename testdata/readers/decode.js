// Prints each content of the JSON lines on standard input in base64.
for (const line of require('fs').readFileSync(0, 'utf8').trimEnd().split('\n'))
  for (const item of JSON.parse(line).items) console.log(Buffer.from(item.content, 'utf8').toString('base64'))
