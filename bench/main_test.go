package main

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/bytedance/sonic"
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	goccy "github.com/goccy/go-json"
	segmentio "github.com/segmentio/encoding/json"

	"github.com/untrusted-context/envelope"
	"github.com/untrusted-context/envelope/internal/fuzzseeds"
	"github.com/untrusted-context/envelope/internal/numbers"
)

// What is compared does the same job: both renderers write the same bytes, and every contender runs
// on every text.
func TestTheSameJob(t *testing.T) {
	texts, err := corpora("..")
	must(err)
	for _, text := range texts {
		if len(text.text) == 0 {
			t.Fatalf("no text for %s", text.name)
		}
		items := eight(text)
		var r stdRenderer
		want := render(nil, items, unbounded)
		if got := r.render(items); !bytes.Equal(got, want) {
			t.Errorf("%s: encoding/json writes\n%.300s\nenvelope\n%.300s", text.name, got, want)
		}
		renderMarkdown(nil, items, unbounded)
		if n := report.Count(envelope.Included); n != len(items) {
			t.Errorf("%s: %d items as Markdown", text.name, n)
		}
		own, got := render(nil, items, envelope.Budget{}), r.fit(items, 8000, 2000)
		full := len(own) >= len(got)-8 || report.Count(envelope.TooShort) > 0 // which r delivers
		if len(got) > 8000 || len(own) > 8000 || !full {
			t.Errorf("%s: %d and %d bytes", text.name, len(got), len(own))
		}
		for _, contenders := range []func(corpus) []contender{
			oneString(2000), sameJob, fitted, reading, writingLog, readingLog,
		} {
			for _, c := range contenders(text) {
				c.run()
			}
		}
	}
}

func TestDraw(t *testing.T) {
	svg := draw([]chart{{title: "t", x: "x", curves: []curve{{"a", []point{{1, 1}, {10, 20}}}}}})
	if !strings.HasPrefix(string(svg), "<svg ") || !strings.Contains(string(svg), "<polyline") {
		t.Errorf("%s", svg)
	}
}

// The decoders of other libraries give back every code point and every text of the fuzz targets'
// seeds, as encoding/json does.
func TestOtherDecoders(t *testing.T) {
	var every strings.Builder
	for c := rune(0); c <= 0x10ffff; c++ {
		if c < 0xd800 || c > 0xdfff {
			every.WriteRune(c)
		}
	}
	contents := []string{every.String() + envelope.PowerContextV1.End}
	seeds, err := fuzzseeds.Texts("..")
	must(err)
	for _, s := range seeds {
		contents = append(contents, "x"+strings.ToValidUTF8(s, "\ufffd")) // none is blank
	}
	if len(contents) < 200 {
		t.Fatalf("%d texts: the seeds are not there", len(contents))
	}
	items := make([]envelope.Item, len(contents))
	for i, content := range contents {
		items[i] = envelope.Item{Citation: cite(int64(i)), Content: content}
	}
	const classes = envelope.EscapeNonASCII | envelope.EscapeMarkup | envelope.EscapeControls
	for _, e := range []envelope.Escape{0, classes} {
		text, report, err := envelope.JSON{Escape: e}.Append(nil, items, unbounded)
		must(err)
		if report.Count(envelope.Included) != len(items) {
			t.Fatalf("%+v", report)
		}
		lines := bytes.Split(text, []byte("\n"))
		data := lines[len(lines)-2]
		for name, decode := range decoders {
			got, err := decode(data)
			if err != nil || !slices.Equal(got, contents) {
				t.Errorf("%s: %d of %d texts, %v", name, len(got), len(contents), err)
			}
		}
	}
}

// None of them refuses a line for a number in a citation.
func TestOtherDecodersReadEveryNumber(t *testing.T) {
	into := map[string]func([]byte, any) error{
		"goccy":                   goccy.Unmarshal,
		"segmentio":               segmentio.Unmarshal,
		"sonic":                   sonic.Unmarshal,
		"sonic, as encoding/json": sonic.ConfigStd.Unmarshal,
		"json/v2": func(data []byte, v any) error {
			return jsonv2.Unmarshal(data, v)
		},
	}
	for _, n := range numbers.Crooked {
		items := []envelope.Item{
			{Citation: json.RawMessage(`{"n":[` + n.Text + `]}`), Content: "x"},
			{Citation: cite(1), Content: "y"},
		}
		text, report, err := envelope.JSON{}.Append(nil, items, unbounded)
		must(err)
		if (report.Count(envelope.Included) == 2) == n.Infinite {
			t.Fatalf("%s: %+v", n.Why, report)
		}
		lines := bytes.Split(text, []byte("\n"))
		for name, unmarshal := range into {
			var v any
			if err := unmarshal(lines[len(lines)-2], &v); err != nil {
				t.Errorf("%s refuses %s", name, n.Why)
			}
		}
	}
}

// decoders return the contents of a JSON line.
var decoders = map[string]func([]byte) ([]string, error){
	"encoding/json": unmarshaler(json.Unmarshal),
	"goccy":         unmarshaler(goccy.Unmarshal),
	"segmentio":     unmarshaler(segmentio.Unmarshal),
	"sonic":         unmarshaler(sonic.Unmarshal),
	"jsontext": func(data []byte) (contents []string, err error) {
		d := jsontext.NewDecoder(bytes.NewReader(data))
		for {
			token, err := d.ReadToken()
			if err == io.EOF {
				return contents, nil
			}
			if err != nil {
				return nil, err
			}
			if token.Kind() == '"' && token.String() == "content" && d.StackDepth() == 3 {
				if token, err = d.ReadToken(); err != nil {
					return nil, err
				}
				contents = append(contents, token.String())
			}
		}
	},
}

func unmarshaler(unmarshal func([]byte, any) error) func([]byte) ([]string, error) {
	return func(data []byte) (contents []string, err error) {
		var line struct {
			Items []struct{ Content string }
		}
		err = unmarshal(data, &line)
		for _, item := range line.Items {
			contents = append(contents, item.Content)
		}
		return contents, err
	}
}
