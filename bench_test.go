package envelope_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope"
)

// benchmarkAppend is the body of the benchmarks, and runs once in the ordinary tests.
func benchmarkAppend(tb testing.TB, rounds int, items []envelope.Item, b envelope.Budget) {
	dst := make([]byte, 0, 1<<20)
	for range rounds {
		out, report, err := envelope.JSON{}.Append(dst, items, b)
		if err != nil || report.Bytes == 0 || len(out) != report.Bytes {
			tb.Fatalf("%d bytes, %+v, %v", len(out), report, err)
		}
		dst = out[:0]
	}
}

var corpora = []struct{ name, text string }{
	{"ascii", strings.Repeat("The client is generated from the API description, so change that first. ", 30)},
	{"chinese", strings.Repeat("客户端由接口描述生成，所以先改描述，再重新生成，最后运行契约测试。", 24)},
	{"code", strings.Repeat("\tif err := run(ctx, \"step\"); err != nil {\n\t\treturn fmt.Errorf(\"step: %w\", err)\n\t}\n", 26)},
	{"dense", strings.Repeat("\"\\\n\t\x01\u2028", 260)},
}

func eachCorpus(run func(name string, items []envelope.Item)) {
	for _, c := range corpora {
		items := make([]envelope.Item, 8)
		for i := range items {
			items[i] = memory(fmt.Sprint(i), strings.ToValidUTF8(c.text[:2000], ""))
		}
		run(c.name, items)
	}
}

func BenchmarkAppend(b *testing.B) {
	budgets := map[string]envelope.Budget{"whole": {MaxBytes: -1, MaxItemBytes: -1}, "fitted": {}}
	for name, budget := range budgets {
		eachCorpus(func(corpus string, items []envelope.Item) {
			b.Run(name+"/"+corpus, func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(8 * int64(len(items[0].Content)))
				benchmarkAppend(b, b.N, items, budget)
			})
		})
	}
}

// BenchmarkAppendLong shows that what is cut away costs nothing: 64 KB and 64 MB take the same
// time in one budget.
func BenchmarkAppendLong(b *testing.B) {
	parts := map[string]string{"ascii": "some words ", "chinese": "记忆", "blank": " "}
	for _, size := range []int{64 << 10, 64 << 20} {
		for name, part := range parts {
			content := strings.Repeat(part, size/len(part))
			if name == "blank" {
				content += "x"
			}
			b.Run(fmt.Sprintf("%s/%dKB", name, size>>10), func(b *testing.B) {
				b.ReportAllocs()
				benchmarkLong(b, b.N, content)
			})
		}
	}
}

func benchmarkLong(tb testing.TB, rounds int, content string) {
	dst := make([]byte, 0, 1<<16)
	items := []envelope.Item{memory("e", content)}
	for range rounds {
		_, _, err := envelope.JSON{}.Append(dst, items, envelope.Budget{})
		if err != nil {
			tb.Fatal(err)
		}
	}
}

func TestBenchmarkBodies(t *testing.T) {
	eachCorpus(func(_ string, items []envelope.Item) {
		benchmarkAppend(t, 2, items, envelope.Budget{})
	})
	benchmarkLong(t, 2, strings.Repeat("x", 1<<20))
	eachCorpus(func(_ string, items []envelope.Item) {
		benchmarkMarkdown(t, 2, items, envelope.Budget{})
	})
	require.Len(t, corpora, 4)
}

func BenchmarkMarkdown(b *testing.B) {
	eachCorpus(func(corpus string, items []envelope.Item) {
		b.Run(corpus, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(8 * int64(len(items[0].Content)))
			benchmarkMarkdown(b, b.N, items, envelope.Budget{MaxBytes: -1})
		})
	})
	for _, size := range []int{64 << 10, 64 << 20} {
		items := []envelope.Item{memory("e", strings.Repeat("some words\n", size/11))}
		b.Run(fmt.Sprintf("long/%dKB", size>>10), func(b *testing.B) {
			b.ReportAllocs()
			benchmarkMarkdown(b, b.N, items, envelope.Budget{})
		})
	}
}

func benchmarkMarkdown(tb testing.TB, rounds int, items []envelope.Item, b envelope.Budget) {
	m := envelope.Markdown{Sections: []envelope.Section{{Limit: envelope.Unlimited}}}
	dst := make([]byte, 0, 1<<20)
	for range rounds {
		out, report, err := m.Append(dst, items, b)
		if err != nil || report.Bytes == 0 || len(out) != report.Bytes {
			tb.Fatalf("%d bytes, %+v, %v", len(out), report, err)
		}
	}
}
