# As lines.py.
proc show {way lines} {
    global name known
    set found {}
    foreach line $lines { if {$line ne ""} { lappend found [expr {[lsearch -exact $known $line] + 1}] } }
    puts "$name\t$way\t[join $found ,]"
}
proc read_lines {path encoding translation} {
    set f [open $path]
    fconfigure $f -encoding $encoding -translation $translation -eofchar {}
    set lines {}
    while {[gets $f line] >= 0} { lappend lines $line }
    close $f
    return $lines
}
foreach path [lsort [glob [file join [lindex $argv 0] *.text]]] {
    set name [file rootname [file tail $path]]
    set known [read_lines [file rootname $path].lines utf-8 lf]
    show gets [read_lines $path utf-8 auto]
    show "gets lf" [read_lines $path utf-8 lf]
    set f [open $path]
    fconfigure $f -encoding utf-8 -translation lf -eofchar {}
    set text [read $f]
    close $f
    show "split" [split $text "\n\r"]
    show "regexp -line" [regexp -all -inline -line {^.*$} $text]
    show "bytes: gets" [read_lines $path iso8859-1 auto]
}
