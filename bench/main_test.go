package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	goccy "github.com/goccy/go-json"

	"github.com/untrusted-context/envelope"
)

// What is compared does the same job: both renderers write the same bytes, and the peers run on every text.
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
		fitted := render(nil, items, envelope.Budget{})
		if got := r.fit(items, 8000, 2000); len(got) > 8000 || len(fitted) > 8000 || len(fitted) < len(got)-8 {
			t.Errorf("%s: %d and %d bytes", text.name, len(got), len(fitted))
		}
		for _, p := range peers() {
			p.encode(text.take(2000, 0))
		}
	}
}

func TestDraw(t *testing.T) {
	svg := draw([]chart{{title: "t", x: "x", lines: []line{{"a", [][2]float64{{1, 1}, {10, 20}}}}}})
	if !strings.HasPrefix(string(svg), "<svg ") || !strings.Contains(string(svg), "<polyline") {
		t.Errorf("%s", svg)
	}
}

// The decoders of other libraries give back what encoding/json does.
func TestOtherDecoders(t *testing.T) {
	var b strings.Builder
	for c := rune(0); c <= 0x10ffff; c++ {
		if c < 0xd800 || c > 0xdfff {
			b.WriteRune(c)
		}
	}
	content := b.String() + envelope.PowerContextV1.End
	text := render(nil, []envelope.Item{{Citation: cite(1), Content: content}}, unbounded)
	lines := bytes.Split(text, []byte("\n"))
	decoded := func(name string, unmarshal func([]byte, any) error) {
		var line struct {
			Items []struct{ Content string }
		}
		if err := unmarshal(lines[len(lines)-2], &line); err != nil || len(line.Items) != 1 || line.Items[0].Content != content {
			t.Errorf("%s: %v", name, err)
		}
	}
	decoded("encoding/json", json.Unmarshal)
	decoded("goccy", goccy.Unmarshal)
	if !jsontext.Value(lines[len(lines)-2]).IsValid() {
		t.Error("jsontext: not valid")
	}
}
