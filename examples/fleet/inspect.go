package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/fileio"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/untrusted-context/envelope/transcript"
)

func init() {
	register.DoFn3x1[context.Context, fileio.FileMetadata, func(report), error](&inspectFn{})
	register.Emitter1[report]()
	register.Function1x2(encodeReport)
	beam.RegisterType(reflect.TypeFor[report]())
}

// report is what is known of one log.
type report struct {
	File      string           `json:"file"`
	Records   int64            `json:"records"`
	Recovered int64            `json:"recovered"` // whole records in faulty lines
	Faults    map[string]int64 `json:"faults"`    // lines, by what is wrong with them
	Repaired  string           `json:"repaired"`  // the file of a repair; "" for none
	Error     string           `json:"error"`     // why it is unread or unrepaired; "" for nothing
}

// inspectFn reads a log, and repairs it when it is damaged.
type inspectFn struct {
	Fixed    string // what the paths of the logs have in common
	Repaired string // the folder for repaired logs, or ""
}

// ProcessElement emits the report of one log. A log that cannot be read is a report too: one bad
// file costs no other.
func (f *inspectFn) ProcessElement(
	ctx context.Context, file fileio.FileMetadata, emit func(report),
) error {
	fs, err := filesystem.New(ctx, file.Path)
	if err != nil {
		return err
	}
	defer fs.Close()
	r := report{File: file.Path, Faults: map[string]int64{}}
	err = r.inspect(ctx, fs)
	if err == nil && len(r.Faults) > 0 && f.Repaired != "" {
		target := join(f.Repaired, strings.TrimPrefix(file.Path, f.Fixed))
		if err = repair(ctx, fs, file.Path, target); err == nil {
			r.Repaired = target
		}
	}
	if ctx.Err() != nil {
		return ctx.Err() // the engine tries again
	}
	if err != nil {
		r.Error = err.Error()
	}
	emit(r)
	return nil
}

func (r *report) inspect(ctx context.Context, fs filesystem.Interface) error {
	log, err := fs.OpenRead(ctx, r.File)
	if err != nil {
		return err
	}
	defer log.Close()
	faulty := 0
	for record, err := range transcript.Recover(log, transcript.Options{}) {
		fault := (*transcript.Fault)(nil)
		switch {
		case errors.As(err, &fault):
			faulty = fault.Line
			r.Faults[fault.Kind.String()]++
		case err != nil:
			return err
		case record.Line == faulty:
			r.Recovered++
		default:
			r.Records++
		}
	}
	return nil
}

// repair writes the whole records of a log into another file, which gets its name when it is whole.
// A second try of the engine, also one beside the first, writes the same.
func repair(ctx context.Context, fs filesystem.Interface, source, target string) (err error) {
	log, err := fs.OpenRead(ctx, source)
	if err != nil {
		return err
	}
	defer log.Close()
	to, err := filesystem.New(ctx, target)
	if err != nil {
		return err
	}
	defer to.Close()
	temp := fmt.Sprintf("%s.%016x.tmp", target, rand.Uint64())
	w, err := to.OpenWrite(ctx, temp)
	if err != nil {
		return err
	}
	_, err = transcript.Repair(w, log, transcript.Options{})
	if err = errors.Join(err, w.Close()); err == nil {
		err = filesystem.Rename(ctx, to, temp, target)
	}
	if err != nil {
		if r, ok := to.(filesystem.Remover); ok {
			err = errors.Join(err, r.Remove(ctx, temp))
		}
	}
	return err
}

func encodeReport(r report) (string, error) {
	data, err := json.Marshal(r)
	return string(data), err
}
