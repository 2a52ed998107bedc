# As lines.py.
require 'stringio'
Dir[File.join(ARGV[0], '*.text')].sort.each do |path|
  at = File.read(path.sub(/text\z/, 'lines'), encoding: 'UTF-8').split("\n").each_with_index.to_h { |l, i| [l, i + 1] }
  text = File.read(path, encoding: 'UTF-8')
  show = ->(way, lines) { puts [File.basename(path, '.text'), way, lines.map { |l| l.sub(/[\r\n]+\z/, '') }.reject(&:empty?).map { |l| at[l] || 0 }.join(',')].join("\t") }
  show['each_line', text.each_line]
  show['each_line chomp', text.each_line(chomp: true)]
  show['lines', text.lines]
  show['readlines', File.readlines(path, encoding: 'UTF-8')]
  show['foreach', File.foreach(path, encoding: 'UTF-8')]
  show['rt', File.open(path, 'rt:UTF-8', &:readlines)]
  show['StringIO', StringIO.new(text).each_line]
  show['split \n', text.split("\n")]
  show['split \R', text.split(/\R/)]
  show['scan ^$', text.scan(/^.*$/)]
  show['bytes: split \R', text.dup.force_encoding('ISO-8859-1').encode('UTF-8').split(/\R/)]
end
