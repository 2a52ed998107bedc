package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// curve is one line of a drawing.
type curve struct {
	name   string
	points []point
}

// point is what was varied and the microseconds that a call took.
type point struct{ x, y float64 }

func (c *curve) add(x int, y float64) { c.points = append(c.points, point{float64(x), y}) }

// chart is one drawing: what grows, and how the cost does.
type chart struct {
	title, x string
	curves   []curve
}

// colours are legible on white and on black.
var colours = []string{
	"#4477cc", "#dd4466", "#229944", "#aa8800", "#aa44aa", "#0099aa", "#888888", "#dd6633",
}

// The size of a chart and its margins. Names of curves stand in the right one.
const (
	width, height            = 560, 320
	left, right, top, bottom = 60, 110, 40, 50
)

// draw draws the charts below each other in pairs, both axes logarithmic: a straight rise of one
// decade in one is linear growth, a flat line none. The background is the reader's own, and black
// text turns white on a dark one.
func draw(charts []chart) []byte {
	rows := (len(charts) + 1) / 2
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" `+
		`font-family="sans-serif" font-size="11">`+"\n", 2*width, rows*height+20)
	b.WriteString(`<style>text{fill:#222}.frame{stroke:#888;fill:none}.grid{stroke:#8886}` +
		`@media(prefers-color-scheme:dark){text{fill:#ddd}}</style>` + "\n")
	for k, c := range charts {
		c.draw(&b, float64(k%2*width+left), float64(k/2*height+top))
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d">time of one Append; %s</text>`+"\n",
		left, rows*height+10, machine())
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

// draw draws the chart with its upper left corner at x0 and y0.
func (c chart) draw(b *strings.Builder, x0, y0 float64) {
	const w, h = float64(width - left - right), float64(height - top - bottom)
	low, high := c.bounds()
	at := func(p point) (x, y float64) {
		x = x0 + w*(math.Log10(p.x)-low.x)/(high.x-low.x)
		y = y0 + h - h*(math.Log10(p.y)-low.y)/(high.y-low.y)
		return x, y
	}
	fmt.Fprintf(b, `<text x="%.0f" y="%.0f" font-weight="bold">%s</text>`+"\n", x0, y0-12, c.title)
	fmt.Fprintf(b, `<text x="%.0f" y="%.0f" text-anchor="middle">%s</text>`+"\n",
		x0+w/2, y0+h+32, c.x)
	fmt.Fprintf(b, `<rect class="frame" x="%.0f" y="%.0f" width="%.0f" height="%.0f"/>`+"\n",
		x0, y0, w, h)
	for e := math.Ceil(low.x); e <= high.x; e++ {
		x, _ := at(point{math.Pow(10, e), 1})
		fmt.Fprintf(b, `<path class="grid" d="M%.1f %.1fV%.1f"/>`, x, y0, y0+h)
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`+"\n",
			x, y0+h+15, power(e))
	}
	for e := low.y; e <= high.y; e++ {
		_, y := at(point{1, math.Pow(10, e)})
		fmt.Fprintf(b, `<path class="grid" d="M%.1f %.1fH%.1f"/>`, x0, y, x0+w)
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="end">%s µs</text>`+"\n",
			x0-4, y+4, power(e))
	}
	ends := make([]float64, len(c.curves))
	for i, curve := range c.curves {
		var points []string
		for _, p := range curve.points {
			x, y := at(p)
			points = append(points, fmt.Sprintf("%.1f,%.1f", x, y))
			ends[i] = y
		}
		fmt.Fprintf(b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="1.5"/>`+"\n",
			strings.Join(points, " "), colours[i%len(colours)])
	}
	for i, y := range spaced(ends, 12) {
		colour := colours[i%len(colours)]
		fmt.Fprintf(b, `<path d="M%.1f %.1fL%.1f %.1f" stroke="%s"/>`,
			x0+w, ends[i], x0+w+8, y, colour)
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" style="fill:%s">%s</text>`+"\n",
			x0+w+10, y+4, colour, c.curves[i].name)
	}
}

// spaced returns places near the given ones, in the same order, that are so far apart.
func spaced(places []float64, apart float64) []float64 {
	order := make([]int, len(places))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		if places[a] < places[b] {
			return -1
		}
		return 1
	})
	result := slices.Clone(places)
	middle := 0.0
	for _, y := range places {
		middle += y / float64(len(places))
	}
	start := middle - apart*float64(len(places)-1)/2
	for n, i := range order {
		result[i] = start + apart*float64(n)
	}
	return result
}

// power writes a power of ten: 0.1, 1000, 1M.
func power(e float64) string {
	if e >= 6 {
		return fmt.Sprintf("%gM", math.Pow(10, e-6))
	}
	return fmt.Sprintf("%g", math.Pow(10, e))
}

// bounds returns the logarithms of the least and the most, those of the cost in whole decades.
func (c chart) bounds() (low, high point) {
	low = point{math.Inf(1), math.Inf(1)}
	high = point{math.Inf(-1), math.Inf(-1)}
	for _, curve := range c.curves {
		for _, p := range curve.points {
			low = point{min(low.x, math.Log10(p.x)), min(low.y, math.Log10(p.y))}
			high = point{max(high.x, math.Log10(p.x)), max(high.y, math.Log10(p.y))}
		}
	}
	return point{low.x, math.Floor(low.y)}, point{high.x, math.Ceil(high.y)}
}
