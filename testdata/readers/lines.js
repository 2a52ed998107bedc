// Prints, for each way of reading lines: its name, how many lines equal BEGIN, how many equal END.
const fs = require('fs'), readline = require('readline')
const [path, begin, end] = process.argv.slice(2)
const text = fs.readFileSync(path, 'utf8')
const show = (name, lines) => console.log([name, lines.filter(l => l === begin).length, lines.filter(l => l === end).length].join('\t'))
show('split(/\\r?\\n/)', text.split(/\r?\n/))
show('split(/[\\r\\n]+/)', text.split(/[\r\n]+/))
show('/^.*$/mg', text.match(/^.*$/mg))
show('split(line terminators)', text.split(/\r\n|[\n\r\u2028\u2029]/))
show('split(\\s*\\n)', text.split(/[\n\v\f\r\x85\u2028\u2029]/))
const lines = []
readline.createInterface({ input: fs.createReadStream(path), crlfDelay: Infinity }).on('line', l => lines.push(l)).on('close', () => show('readline', lines))
