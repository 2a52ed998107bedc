package main

import (
	"bufio"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/untrusted-context/envelope/transcript"
)

func repairTranscript(args []string, s streams) (int, error) {
	f := newLogFlags("repair")
	out := f.String("o", "", "write the records to this `file`, which must not exist")
	asJSON := f.Bool("json", false, "say what was left out as one JSON object instead of lines")
	in, err := openLog(f, args, s)
	if err != nil {
		return failed, err
	}
	defer in.Close()
	switch *out {
	case "":
		return failed, errors.New("-o FILE says where the records go")
	case "-":
		return failed, errors.New("-o takes a file: standard output is for what was left out")
	}
	// Whatever is there, the log itself by another name or what pipes it to here among them, is
	// not written over.
	if err := absent(*out); err != nil {
		return failed, err
	}
	// Its name is none of a log, since a repair that is killed leaves it.
	temp, err := os.CreateTemp(filepath.Dir(*out), "."+filepath.Base(*out)+".repair-*.tmp")
	if err != nil {
		return failed, logError(err)
	}
	defer removeOnSignal(temp.Name())()
	report := newFaultReport(s.out, *asJSON)
	err = repairInto(temp, in, s, f.options(), report)
	in.clear()
	if err == nil {
		err = temp.Sync()
	}
	if err = errors.Join(err, temp.Close()); err == nil {
		err = publish(temp.Name(), *out)
	}
	_ = os.Remove(temp.Name())
	if err != nil {
		return failed, logError(err)
	}
	if err := report.end(); err != nil {
		return failed, logError(err)
	}
	return done, nil
}

// repairInto does what transcript.Repair does, and reports each fault as it comes instead of
// keeping it.
func repairInto(
	temp *os.File, in *logInput, s streams, o transcript.Options, report *faultReport,
) error {
	records := bufio.NewWriterSize(temp, 64<<10)
	faulty, recovered := 0, 0
	for record, err := range transcript.Recover(in.progress(s, false), o) {
		if fault := (*transcript.Fault)(nil); errors.As(err, &fault) {
			if faulty = fault.Line; report.fault(fault) != nil {
				return report.end() // the error stays
			}
			continue
		}
		if err != nil {
			return err
		}
		if record.Line == faulty {
			recovered++
		} else {
			report.records++
		}
		_, _ = records.Write(record.JSON) // its error stays, and comes with the LF
		if err := records.WriteByte('\n'); err != nil {
			return err
		}
	}
	if in.read > 0 && report.records+recovered == 0 {
		// The faults are on standard output all the same.
		return errors.Join(transcript.ErrNothing, report.out.Flush())
	}
	report.count("recovered", recovered)
	return records.Flush()
}

// publish gives the finished file its name, unless a file of that name came to be in the
// meantime.
func publish(temp, out string) error {
	err := os.Link(temp, out)
	if err == nil {
		return nil
	}
	if errors.Is(err, os.ErrExist) {
		return errExists
	}
	return publishWithoutLinks(temp, out)
}

// publishWithoutLinks takes the name first, by an empty file.
func publishWithoutLinks(temp, out string) error {
	f, err := os.OpenFile(out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return errExists
	}
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Rename(temp, out); err != nil {
		return errors.Join(err, os.Remove(out))
	}
	return nil
}

var errExists = errors.New("the file of -o exists")

// removeOnSignal removes a file when the program is told to end, until the function that it
// returns is called.
func removeOnSignal(file string) (stop func()) {
	signals := make(chan os.Signal, 1)
	for _, end := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(end) { // as under nohup
			signal.Notify(signals, end)
		}
	}
	go func() {
		if _, told := <-signals; told {
			_ = os.Remove(file)
			os.Exit(failed)
		}
	}()
	return func() {
		signal.Stop(signals)
		close(signals)
	}
}

// absent is nil when there is no such file.
func absent(file string) error {
	_, err := os.Lstat(file)
	switch {
	case err == nil:
		return errExists
	case os.IsNotExist(err):
		return nil
	}
	return printable(err)
}
