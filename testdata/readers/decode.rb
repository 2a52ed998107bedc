# Prints each content of the JSON line on standard input in base64.
require 'json'
JSON.parse(STDIN.read.force_encoding('UTF-8'))['items'].each { |item| puts [item['content']].pack('m0') }
