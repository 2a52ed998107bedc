# Prints, for each way of reading lines: its name, how many lines equal BEGIN, how many equal END.
path, first, last = ARGV
text = File.read(path, encoding: 'UTF-8')
show = ->(name, lines) { lines = lines.map(&:chomp); puts [name, lines.count(first), lines.count(last)].join("\t") }
show['each_line', text.each_line.to_a]
show['readlines', File.readlines(path, encoding: 'UTF-8')]
show['split \R', text.split(/\R/)]
show['scan ^$', text.scan(/^.*$/)]
