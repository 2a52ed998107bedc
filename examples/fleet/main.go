// Command fleet inspects the logs of many conversations, and repairs the damaged ones into another
// folder, with Apache Beam.
//
//	go run . -logs 'logs/*.jsonl' -out results [-repaired folder]
//
// It writes results/reports.jsonl, one JSON object a file in no order, and results/totals.json.
// Both get their names when all is done: what a run that was ended left behind is a name that
// ends in ".tmp", and running it again begins anew. A log is read once to be inspected, and once
// more to be repaired.
//
// It runs in this process (Beam's prism) or, with -runner and that runner's flags, on Flink,
// Spark or Dataflow, with folders that its workers see.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/fileio"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/gcs"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/local"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/textio"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"
)

var (
	logs     = flag.String("logs", "", "the `glob` of the logs")
	out      = flag.String("out", "", "the `folder` for reports.jsonl and totals.json")
	repaired = flag.String("repaired", "", "the `folder` for repaired logs (none: no repair)")
)

func main() {
	flag.Parse()
	beam.Init() // a worker does its work in there, and does not come back
	if err := run(context.Background(), *logs, *out, *repaired); err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, logs, out, repaired string) error {
	if logs == "" || out == "" {
		return errors.New("-logs and -out say where the logs are and where the results go")
	}
	if fixed := fixedPart(logs); repaired != "" && inside(repaired, fixed) {
		return errors.New("-repaired is among the logs")
	}
	p, s := beam.NewPipelineWithRoot()
	files := fileio.MatchFiles(s, logs, fileio.MatchEmptyDisallow())
	files = beam.Reshuffle(s, files) // so that each worker gets some
	inspect := &inspectFn{Fixed: fixedPart(logs), Repaired: repaired}
	reports := beam.ParDo(s, inspect, files)
	names := []string{"reports.jsonl", "totals.json"}
	textio.Write(s, unfinished(out, names[0]), beam.ParDo(s, encodeReport, reports))
	totals := beam.Combine(s, &totalsFn{}, reports)
	textio.Write(s, unfinished(out, names[1]), beam.ParDo(s, encodeTotals, totals))
	if err := beamx.Run(ctx, p); err != nil {
		return err
	}
	fs, err := filesystem.New(ctx, out)
	if err != nil {
		return err
	}
	defer fs.Close()
	for _, name := range names {
		if err := filesystem.Rename(ctx, fs, unfinished(out, name), join(out, name)); err != nil {
			return err
		}
	}
	return nil
}

func unfinished(folder, name string) string { return join(folder, name+".tmp") }

// join is a path in a folder, which may be one of an object store.
func join(folder, name string) string { return strings.TrimSuffix(folder, "/") + "/" + name }

// fixedPart is the folder that all paths of a glob have in common.
func fixedPart(glob string) string {
	if meta := strings.IndexAny(glob, `*?[\`); meta >= 0 {
		glob = glob[:meta]
	}
	return glob[:strings.LastIndexByte(glob, '/')+1]
}

// inside reports whether a folder is another or below it.
func inside(folder, other string) bool {
	return strings.HasPrefix(join(folder, ""), other) && other != ""
}
