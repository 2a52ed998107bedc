package main

import (
	"fmt"
	"math"
	"runtime"
	"strings"
)

// draw draws the charts, two in a row, both axes logarithmic: a straight rise of one decade in one is linear growth, a flat line none.
func draw(charts []chart) []byte {
	const width, height, left, bottom, top = 460, 300, 60, 50, 40
	colours := []string{"#4477aa", "#ee6677", "#228833", "#ccbb44", "#aa3377", "#66ccee", "#888888", "#ee8866"}
	rows := (len(charts) + 1) / 2
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="11">`+"\n", 2*width, rows*height+20)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="white"/>`+"\n")
	for k, c := range charts {
		x0, y0 := float64(k%2*width+left), float64(k/2*height+top)
		w, h := float64(width-left-20), float64(height-top-bottom)
		xMin, xMax, yMin, yMax := bounds(c)
		at := func(p [2]float64) (x, y float64) {
			x = x0 + w*(math.Log10(p[0])-xMin)/(xMax-xMin)
			y = y0 + h - h*(math.Log10(p[1])-yMin)/(yMax-yMin)
			return x, y
		}
		fmt.Fprintf(&b, `<text x="%.0f" y="%.0f" font-weight="bold">%s</text>`+"\n", x0, y0-12, c.title)
		fmt.Fprintf(&b, `<text x="%.0f" y="%.0f" text-anchor="middle">%s</text>`+"\n", x0+w/2, y0+h+32, c.x)
		fmt.Fprintf(&b, `<rect x="%.0f" y="%.0f" width="%.0f" height="%.0f" fill="none" stroke="#999"/>`+"\n", x0, y0, w, h)
		for e := math.Ceil(xMin); e <= xMax; e++ {
			x, _ := at([2]float64{math.Pow(10, e), math.Pow(10, yMin)})
			fmt.Fprintf(&b, `<path d="M%.1f %.1fV%.1f" stroke="#ddd"/><text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`+"\n", x, y0, y0+h, x, y0+h+15, power(e))
		}
		for e := math.Ceil(yMin); e <= yMax; e++ {
			_, y := at([2]float64{math.Pow(10, xMin), math.Pow(10, e)})
			fmt.Fprintf(&b, `<path d="M%.1f %.1fH%.1f" stroke="#ddd"/><text x="%.1f" y="%.1f" text-anchor="end">%s µs</text>`+"\n", x0, y, x0+w, x0-4, y+4, power(e))
		}
		for i, l := range c.lines {
			var points []string
			for _, p := range l.points {
				x, y := at(p)
				points = append(points, fmt.Sprintf("%.1f,%.1f", x, y))
			}
			colour := colours[i%len(colours)]
			fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="1.5"/>`+"\n", strings.Join(points, " "), colour)
			fmt.Fprintf(&b, `<text x="%.0f" y="%.0f" fill="%s">%s</text>`+"\n", x0+8, y0+14+13*float64(i), colour, l.name)
		}
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" fill="#666">time of one Append; %s %s/%s, %d CPUs</text>`+"\n", left, rows*height+10, runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

func power(e float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%g", math.Pow(10, e)), "e+06") + map[bool]string{true: "M"}[e == 6]
}

// bounds returns the logarithms of the ranges of a chart, with some room.
func bounds(c chart) (xMin, xMax, yMin, yMax float64) {
	xMin, yMin = math.Inf(1), math.Inf(1)
	xMax, yMax = math.Inf(-1), math.Inf(-1)
	for _, l := range c.lines {
		for _, p := range l.points {
			xMin, xMax = min(xMin, math.Log10(p[0])), max(xMax, math.Log10(p[0]))
			yMin, yMax = min(yMin, math.Log10(p[1])), max(yMax, math.Log10(p[1]))
		}
	}
	return xMin, xMax, math.Floor(yMin), math.Ceil(yMax)
}
