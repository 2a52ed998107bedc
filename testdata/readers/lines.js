// As lines.py.
const fs = require('fs'), path = require('path'), readline = require('readline')
const events = (options) => new Promise(done => {
  const lines = []
  readline.createInterface(options).on('line', l => lines.push(l)).on('close', () => done(lines))
})
const awaited = async (options) => { const lines = []; for await (const l of readline.createInterface(options)) lines.push(l); return lines }
const decoded = async (file) => {
  let text = ''
  for await (const chunk of fs.createReadStream(file, { encoding: 'utf8', highWaterMark: 997 })) text += chunk
  return text.split('\n')
}
(async () => {
  const dir = process.argv[2]
  for (const file of fs.readdirSync(dir).filter(f => f.endsWith('.text')).sort()) {
    const name = file.slice(0, -5), full = path.join(dir, file), data = fs.readFileSync(full), text = data.toString('utf8')
    const at = new Map(fs.readFileSync(path.join(dir, name + '.lines'), 'utf8').split('\n').slice(0, -1).map((l, i) => [l, i + 1]))
    const show = (way, lines) => console.log([name, way, lines.filter(l => l !== '').map(l => at.get(l) || 0).join()].join('\t'))
    show("split('\\n')", text.split('\n'))
    show('split(/\\r?\\n/)', text.split(/\r?\n/))
    show('split(/[\\r\\n]+/)', text.split(/[\r\n]+/))
    show('split(/\\r\\n|\\n|\\r/)', text.split(/\r\n|\n|\r/))
    show('/^.*$/mg', text.match(/^.*$/mg))
    show('/^.*$/mgu', text.match(/^.*$/mgu))
    show('/.+/g', text.match(/.+/g))
    show('split(/^/m)', text.split(/^/m).map(l => l.replace(/[\r\n\u2028\u2029]+$/, '')))
    show('split(line terminators)', text.split(/\r\n|[\n\r\u2028\u2029]/))
    show('split(vertical space)', text.split(/[\n\v\f\r\x85\u2028\u2029]/))
    show('readline', await events({ input: fs.createReadStream(full), crlfDelay: Infinity }))
    show('readline, no crlfDelay', await events({ input: fs.createReadStream(full) }))
    show('readline for await', await awaited({ input: fs.createReadStream(full) }))
    show('stream', await decoded(full))
    show('bytes: latin1', data.toString('latin1').split(/[\n\v\f\r\x85\u2028\u2029]/))
  }
})()
