# Prints, for each way of reading lines: its name, how many lines equal BEGIN, how many equal END.
lassign $argv path begin end
proc show {name lines} {
    global begin end
    puts "$name\t[llength [lsearch -all -exact $lines $begin]]\t[llength [lsearch -all -exact $lines $end]]"
}
set f [open $path]
fconfigure $f -encoding utf-8 -translation auto
set lines {}
while {[gets $f line] >= 0} { lappend lines $line }
show gets $lines
seek $f 0
show "split" [split [read $f] "\n\r"]
