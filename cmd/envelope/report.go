package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/untrusted-context/envelope"
)

// encodeReport is the JSON that -report writes.
func encodeReport(r envelope.Report) ([]byte, error) {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(data, '\n'), nil
}

// separate refuses a report that would go where the run reads or writes something else, by
// whatever name: the report would replace the input, or mix with the text.
func separate(report, file, wrapper string, s streams) error {
	if report == "-" {
		return errors.New("-report takes a file: standard output is for the text")
	}
	target, err := os.Stat(report)
	if err != nil {
		return nil // it is new, or cannot be written
	}
	if null, err := os.Stat(os.DevNull); err == nil && os.SameFile(target, null) {
		return nil
	}
	if info := statStream(s.out); info != nil && os.SameFile(target, info) {
		return errors.New("-report is where standard output goes, which is for the text")
	}
	if target.Mode()&fs.ModeCharDevice != 0 {
		return nil // writing to a terminal takes nothing from what is typed there
	}
	in := statStream(s.in)
	if file != "-" {
		in, _ = os.Stat(file) // the error is for who reads it
	}
	if in != nil && os.SameFile(target, in) {
		return errors.New("-report is the input, which it would replace")
	}
	if wrapper != "" {
		if info, err := os.Stat(wrapper); err == nil && os.SameFile(target, info) {
			return errors.New("-report is the file of -wrapper, which it would replace")
		}
	}
	return nil
}

// statStream is what is known of a stream that is a file, or nil.
func statStream(stream any) fs.FileInfo {
	f, ok := stream.(*os.File)
	if !ok {
		return nil
	}
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	return info
}

// pendingFile is a file that is written but not yet in its place.
type pendingFile struct {
	temp, target string // "" is a device or pipe, which has its bytes already
	stop         func()
}

// writeBeside writes data into a temporary file beside name, which takes its place on keep: name
// is never half written, and stays as it was until then. A link stays one, and so do the
// permissions. What is no regular file, as a device, is written at once.
func writeBeside(name string, data []byte) (*pendingFile, error) {
	target := name
	info, err := os.Stat(name)
	exists := err == nil
	if _, err := os.Lstat(name); err == nil {
		target, err = filepath.EvalSymlinks(name)
		if err != nil && (!exists || info.Mode().IsRegular()) {
			return nil, err // a link to nothing; the link of a pipe is none to a name
		}
	}
	if exists {
		// Replacing needs no permission to write the file itself, so that is asked here.
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() {
			_, err := f.Write(data)
			return &pendingFile{}, errors.Join(err, f.Close())
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
	}
	temp := filepath.Join(filepath.Dir(target), fmt.Sprintf(".report-%016x", rand.Uint64()))
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	p := &pendingFile{temp, target, removeOnSignal(temp)}
	_, err = f.Write(data)
	if err == nil && exists {
		err = f.Chmod(info.Mode().Perm())
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		p.discard()
		return nil, err
	}
	return p, nil
}

// keep puts the file in its place.
func (p *pendingFile) keep() error {
	if p.temp == "" {
		return nil
	}
	if err := os.Rename(p.temp, p.target); err != nil {
		p.discard()
		return err
	}
	p.stop()
	return nil
}

// discard leaves what was in its place.
func (p *pendingFile) discard() {
	if p.temp != "" {
		_ = os.Remove(p.temp)
		p.stop()
	}
}
