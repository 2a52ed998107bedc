# As lines.py.
use strict; use warnings;
my ($name, %at);
sub show { my ($way, @lines) = @_; s/[\r\n]+\z// for @lines; print join("\t", $name, $way, join(',', map { $at{$_} // 0 } grep { $_ ne '' } @lines)), "\n" }
sub slurp { my ($layer, $path) = @_; open my $f, "<$layer", $path or die; my @lines = <$f>; @lines }
for my $path (sort glob "$ARGV[0]/*.text") {
    ($name) = $path =~ m|([^/]+)\.text\z|;
    my $n = 0;
    %at = ();
    for (split /\n/, join '', slurp(':raw', "$ARGV[0]/$name.lines")) { my $decoded = $_; utf8::decode($decoded); $at{$_} = $at{$decoded} = ++$n }
    my @raw = slurp(':raw', $path);
    my $bytes = join '', @raw;
    utf8::decode(my $text = $bytes);
    show('<> raw', @raw);
    show('<> UTF-8', slurp(':encoding(UTF-8)', $path));
    show('<> :crlf', slurp(':crlf', $path));
    show('split \n', split /\n/, $text);
    show('split ^', split /^/m, $text);
    show('split \R', split /\R/, $text);
    show('split \v', split /\v/, $text);
    show('(?m)', $text =~ /^(.*)$/mg);
    show('bytes: split \R', split /\R/, $bytes);
    show('bytes: split \v', split /\v/, $bytes);
}
