package transcript

// File is what a Log needs of a file.
type File = file

// Wrap puts another file between the log and its own.
func (l *Log) Wrap(wrap func(File) File) { l.file = wrap(l.file) }
