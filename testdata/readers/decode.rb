# Prints each content of the JSON lines on standard input in base64.
require 'json'
STDIN.set_encoding('UTF-8').each_line { |line| JSON.parse(line)['items'].each { |item| puts [item['content']].pack('m0') } }
