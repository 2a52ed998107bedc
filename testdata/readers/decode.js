// Prints each content of the JSON line on standard input in base64.
for (const item of JSON.parse(require('fs').readFileSync(0, 'utf8')).items) console.log(Buffer.from(item.content, 'utf8').toString('base64'))
