# Prints each content of the JSON lines on standard input in base64.
use strict; use warnings; use JSON::PP; use MIME::Base64; use Encode;
binmode STDIN;
while (<STDIN>) { print encode_base64(encode('utf8', $_->{content}), ''), "\n" for @{ JSON::PP->new->utf8->decode($_)->{items} } }
