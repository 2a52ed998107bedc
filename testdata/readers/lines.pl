# Prints, for each way of reading lines: its name, how many lines equal BEGIN, how many equal END.
use strict; use warnings;
my ($path, $begin, $end) = @ARGV;
sub show { my ($name, @lines) = @_; s/[\r\n]+\z// for @lines; print join("\t", $name, scalar(grep { $_ eq $begin } @lines), scalar(grep { $_ eq $end } @lines)), "\n" }
open my $raw, '<:raw', $path or die; my @raw = <$raw>; show('<> raw', @raw);
open my $utf, '<:encoding(UTF-8)', $path or die; my @utf = <$utf>; show('<> UTF-8', @utf);
my $text = join '', @utf; my $bytes = join '', @raw;
show('split \R', split /\R/, $text);
show('split \v', split /\v/, $text);
show('(?m)', $text =~ /^(.*)$/mg);
show('split \R on bytes', split /\R/, $bytes);
