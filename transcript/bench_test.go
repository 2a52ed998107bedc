package transcript_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope/transcript"
)

// kilobytes are messages of about 1 KB in the log.
var kilobytes = []struct {
	name    string
	message transcript.Message
}{
	{
		"ascii",
		transcript.Message{
			Role: "tool", Content: strings.Repeat("The client is generated from the API. ", 26),
		},
	},
	{
		"chinese",
		transcript.Message{Role: "tool", Content: strings.Repeat("客户端由接口描述生成，所以先改描述。", 18)},
	},
	{
		"code",
		transcript.Message{
			Role: "tool",
			Content: strings.Repeat(
				"\tif err := run(ctx, \"step\"); err != nil {\n\t\treturn err\n\t}\n", 17,
			),
		},
	},
}

// BenchmarkAppend appends messages of 1 KB, and writes the same bytes to a bare file, in turns:
// x-bare is how often the one takes as long as the other, each at its fastest.
func BenchmarkAppend(b *testing.B) {
	for _, k := range kilobytes {
		b.Run(k.name, func(b *testing.B) {
			const turn = 200
			line, err := k.message.MarshalJSON()
			require.NoError(b, err)
			line = append(line, '\n')
			bare, err := os.OpenFile(
				filepath.Join(b.TempDir(), "log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600,
			)
			require.NoError(b, err)
			defer bare.Close()
			log, _ := newLog(b, "", transcript.Options{})
			fastest := func(best time.Duration, do func() error) time.Duration {
				start := time.Now()
				for range turn {
					if err := do(); err != nil {
						b.Fatal(err)
					}
				}
				return min(best, time.Since(start))
			}
			write, appended := time.Hour, time.Hour
			b.ReportAllocs()
			for b.Loop() {
				write = fastest(write, func() error { _, err := bare.Write(line); return err })
				appended = fastest(appended, func() error { return log.Append(&k.message) })
			}
			b.ReportMetric(float64(appended.Nanoseconds())/turn, "ns/append")
			b.ReportMetric(float64(write.Nanoseconds())/turn, "ns/bare")
			b.ReportMetric(float64(appended)/float64(write), "x-bare")
		})
	}
}

// repeated gives the same bytes again and again, size of them.
type repeated struct {
	data []byte
	size int64
	at   int
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.size <= 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(int64(len(p)), r.size)], r.data[r.at:])
	r.at = (r.at + n) % len(r.data)
	r.size -= int64(n)
	return n, nil
}

// logOf is a log of about size bytes, all of one message.
func logOf(tb testing.TB, m transcript.Message, size int64) *repeated {
	line, err := json.Marshal(m)
	require.NoError(tb, err)
	line = append(line, '\n')
	block := bytes.Repeat(line, 1+(1<<20)/len(line))
	return &repeated{data: block, size: size / int64(len(line)) * int64(len(line))}
}

// BenchmarkInspect reads 64 MiB, and asks encoding/json the same line by line.
func BenchmarkInspect(b *testing.B) {
	const size = 64 << 20
	for _, k := range kilobytes {
		b.Run(k.name+"/json.Valid", func(b *testing.B) {
			b.SetBytes(size)
			for b.Loop() {
				for s := newLineScanner(logOf(b, k.message, size)); s.Scan(); {
					if !json.Valid(s.Bytes()) {
						b.Fatal("not JSON")
					}
				}
			}
		})
		b.Run(k.name+"/inspect", func(b *testing.B) {
			b.SetBytes(size)
			b.ReportAllocs()
			for b.Loop() {
				in, err := transcript.Inspect(logOf(b, k.message, size), transcript.Options{})
				if err != nil || len(in.Faults) > 0 {
					b.Fatal(in, err)
				}
			}
		})
	}
}

// 1 GiB, or without TRANSCRIPT_GIB=1 a part of it, is read in the memory of its longest line and
// a little.
func TestMemoryIsBoundByTheLongestLine(t *testing.T) {
	size := int64(96 << 20)
	switch {
	case os.Getenv("TRANSCRIPT_GIB") != "":
		size = 1 << 30
	case testing.Short():
		size = 8 << 20
	}
	for name, m := range map[string]transcript.Message{
		"short lines": kilobytes[0].message,
		"long lines":  {Role: "tool", Content: strings.Repeat("x", 3<<20)},
	} {
		log := logOf(t, m, size)
		var in transcript.Inspection
		grown := grownBy(func() {
			var err error
			in, err = transcript.Inspect(log, transcript.Options{})
			require.NoError(t, err)
		})
		assert.Empty(t, in.Faults)
		line := len(m.Content) + len(`{"role":"tool","content":""}`+"\n")
		assert.Equal(t, int(size)/line, in.Records)
		t.Logf("%s: %d MiB read, %d KiB more memory", name, size>>20, grown>>10)
		assert.Less(t, grown, int64(len(m.Content)+64<<20))
	}
}

// A line of very many names takes memory of the order of the line.
func TestMemoryOfManyNames(t *testing.T) {
	size := 64<<20 - 16
	if testing.Short() || slow {
		size = 4 << 20
	}
	line := manyNames(size)
	for name, read := range map[string]func(){
		"Inspect": func() {
			in, err := transcript.Inspect(bytes.NewReader(line), transcript.Options{})
			require.NoError(t, err)
			require.Equal(t, transcript.Inspection{Records: 1}, in)
		},
		"Records": func() {
			for r, err := range transcript.Records(bytes.NewReader(line), transcript.Options{}) {
				require.NoError(t, err)
				require.Len(t, r.JSON, len(line))
			}
		},
		"Append": func() {
			log, _ := newLog(t, "", transcript.Options{})
			require.NoError(t, log.Append(json.RawMessage(line)))
		},
	} {
		grown := grownBy(read)
		t.Logf("%s: %d MiB, %d MiB more memory", name, len(line)>>20, grown>>20)
		assert.Less(t, grown, 4*int64(len(line))+8<<20, name)
	}
}

// slow says that a race detector watches, with which the largest inputs take minutes.
var slow bool

// manyNames is an object of about size bytes whose members are as short as they can be told
// apart.
func manyNames(size int) []byte {
	line := append(make([]byte, 0, size+16), '{')
	for n := uint32(0); len(line) < size; n++ {
		line = append(line, '"')
		for k := n; ; k /= 64 {
			line = append(line, letters[k%64])
			if k < 64 {
				break
			}
		}
		line = append(line, '"', ':', '1', ',')
	}
	line[len(line)-1] = '}'
	return line
}

const letters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+-"

// grownBy returns by how much the heap was larger at its largest while do ran.
func grownBy(do func()) int64 {
	debug.FreeOSMemory()
	inUse := func() int64 {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(sample)
		return int64(sample[0].Value.Uint64())
	}
	before, most := inUse(), int64(0)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			most = max(most, inUse())
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	do()
	close(stop)
	<-stopped
	return most - before
}

// newLineScanner is bufio's, for lines of up to 64 MiB.
func newLineScanner(r io.Reader) *bufio.Scanner {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 1<<20), 64<<20)
	return s
}
