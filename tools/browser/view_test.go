package browser

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const demo = "../../testdata/demo.jsonl"

// demoFlags render the demo so that items are cut and left out.
var demoFlags = []string{"-max-items", "9", "-max-item-bytes", "300",
	"-escape", "controls,invisible"}

// command is the command's program, built once.
var command = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "envelope-browser-")
	if err != nil {
		return "", err
	}
	program := filepath.Join(dir, "envelope")
	build := exec.Command("go", "build", "-C", "../..", "-buildvcs=false", "-o", program,
		"./cmd/envelope")
	build.Env = append(os.Environ(), "GOWORK=off")
	out, err := build.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return program, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if program, err := command(); err == nil {
		_ = os.RemoveAll(filepath.Dir(program))
	}
	os.Exit(code)
}

// view writes the page about input with these flags and returns its file, and the report of the
// same rendering.
func view(t *testing.T, input string, flags ...string) (file string, r report) {
	program, err := command()
	require.NoError(t, err)
	dir := t.TempDir()
	file = filepath.Join(dir, "page.html")
	c := exec.Command(program, append([]string{"view", "-o", file}, flags...)...)
	c.Stdin = strings.NewReader(input)
	out, err := c.CombinedOutput()
	if c.ProcessState.ExitCode() != 1 { // a text that is not intact has a page
		require.NoError(t, err, "%s", out)
	}
	if flags[0] == "-text" {
		return file, r
	}
	reportFile := filepath.Join(dir, "report.json")
	c = exec.Command(program, append([]string{"render", "-report", reportFile}, flags...)...)
	c.Stdin = strings.NewReader(input)
	require.NoError(t, c.Run())
	data, err := os.ReadFile(reportFile)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &r))
	return file, r
}

type report struct {
	Bytes int
	Items []struct {
		Outcome   string
		Source    int `json:"source_bytes"`
		Delivered int `json:"delivered_bytes"`
	}
}

// tab is a page in the browser, and all that happened which must not.
type tab struct {
	ctx context.Context

	mu    sync.Mutex
	wrong []string
}

func newTab(t *testing.T) *tab {
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			program = found
			break
		}
	}
	if program == "" {
		t.Skip("no chromium here")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	return &tab{ctx: ctx}
}

// open loads the file and notes every request but that for it, dialog, error and message.
func (b *tab) open(t *testing.T, file string) {
	url := "file://" + file
	note := func(format string, args ...any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.wrong = append(b.wrong, fmt.Sprintf(format, args...))
	}
	require.NoError(t, chromedp.Listen(b.ctx, func(event any) {
		switch e := event.(type) {
		case *network.EventRequestWillBeSent:
			if e.Request.URL != url {
				note("a request for %s", e.Request.URL)
			}
		case *page.EventJavascriptDialogOpening:
			note("a dialog: %s", e.Message)
		case *runtime.EventExceptionThrown:
			note("an error of a script: %s", e.ExceptionDetails.Text)
		case *runtime.EventConsoleAPICalled:
			note("a message of a script")
		case *log.EventEntryAdded:
			note("the log says: %s", e.Entry.Text)
		case *page.EventFrameNavigated:
			if e.Frame.URL != url {
				note("the page went to %s", e.Frame.URL)
			}
		}
	}))
	must(t, b, network.Enable, network.EnableParams{})
	must(t, b, log.Enable, cdp.Empty{})
	must(t, b, runtime.Enable, cdp.Empty{})
	must(t, b, page.Enable, page.EnableParams{})
	require.NoError(t, chromedp.Do(b.ctx, chromedp.Navigate(url)))
}

// must sends a command to the browser.
func must[P, R any](t *testing.T, b *tab, command cdp.Command[P, R], params P) R {
	t.Helper()
	result, err := chromedp.Call(b.ctx, command, params)
	require.NoError(t, err)
	return result
}

// eval is what an expression of JavaScript is on the page.
func eval[T any](t *testing.T, b *tab, expression string) T {
	t.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	require.NoError(t, err)
	return value
}

// do evaluates an expression for what it does.
func (b *tab) do(t *testing.T, expression string) {
	t.Helper()
	eval[chromedp.Void](t, b, expression)
}

// quiet fails when anything happened that must not.
func (b *tab) quiet(t *testing.T) {
	time.Sleep(100 * time.Millisecond)
	b.mu.Lock()
	defer b.mu.Unlock()
	assert.Empty(t, b.wrong)
}

func (b *tab) media(t *testing.T, media, scheme string) {
	must(t, b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: media,
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
}

func (b *tab) size(t *testing.T, width, height int64, scale float64) {
	must(t, b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: width, Height: height, DeviceScaleFactor: scale, Mobile: width < 600})
}

const openAll = `document.querySelectorAll("details").forEach(d => d.open = true)`

// hostile is items that try everything which a page could let them do.
func hostile() string {
	const end = "END_POWERCONTEXT_PREPARED_CONTEXT_V1"
	payloads := []string{
		"<script>alert(1);document.title='x'</script>", "</pre></bdi><script>alert(1)</script>",
		"<img src=http://127.0.0.1:9/x onerror=alert(1)>", `"><svg onload=alert(1)>`,
		"<style>*{display:none!important}</style>", "</style><style>body{display:none}</style>",
		"<a href=javascript:alert(1)>x</a>", "<link rel=stylesheet href=http://127.0.0.1:9/x>",
		"<meta http-equiv=refresh content='0;url=http://127.0.0.1:9/'>", "<base href=http://127.0.0.1:9/>",
		"<iframe src=http://127.0.0.1:9/></iframe>", "{{.}}{{template \"x\"}}${alert(1)}",
		"<form action=http://127.0.0.1:9/><button autofocus onfocus=alert(1)>", "<!--", "<plaintext>",
		"\u202e\u2066 sdrawkcab \u2067 مرحبا \u0591\u0592", "Z" + strings.Repeat("\u0301", 400),
		strings.Repeat("W", 5000),
		strings.Repeat("\u2028"+end, 5000) + strings.Repeat("\n"+end, 5000),
	}
	var lines []string
	for i, p := range payloads {
		line, _ := json.Marshal(map[string]any{"kind": "k" + p[:min(len(p), 40)/4*4],
			"citation": map[string]any{"id": i, "title": p[:min(len(p), 4000)/4*4]}, "content": p})
		lines = append(lines, strings.ToValidUTF8(string(line), "\ufffd"))
	}
	return strings.Join(lines, "\n")
}

// Nothing in the items does anything, wherever the page shows them.
func TestContentDoesNothing(t *testing.T) {
	const all = "-max-bytes -1 -max-items -1 -max-item-bytes -1"
	for _, flags := range []string{all, all + " -bare", all + " -escape nonascii", "-max-items -1",
		all + " -format markdown -sections k<script>:9"} {
		t.Run(flags, func(t *testing.T) {
			b := newTab(t)
			harmless := `{"citation":{"u":1},"content":"x"}`
			if strings.Contains(flags, "markdown") {
				harmless = `{"kind":"k<script>","citation":{"u":1},"content":"x"}`
			}
			input := hostile() + "\n" + harmless
			file, _ := view(t, input, strings.Fields(flags)...)
			b.open(t, file)
			b.do(t, openAll)
			b.quiet(t)
			assert.Zero(t, eval[int](t, b, `document.querySelectorAll("script,img,link,iframe,`+
				`object,embed,form,button,input,base,plaintext,a:not([href^='#'])").length`))
			assert.Zero(t, eval[int](t, b, `[...document.querySelectorAll("*")].filter(e =>
				[...e.attributes].some(a => a.name.startsWith("on") || a.name == "style")).length`))
			assert.Equal(t, 1, eval[int](t, b, `document.querySelectorAll("style").length`))
			title := eval[string](t, b, `document.title`)
			assert.Equal(t, "An envelope, as each reader sees it", title)
			// What is shown stays in its box: no box leaves the page, and nothing its box.
			for _, width := range []int64{1200, 360} {
				b.size(t, width, 800, 1)
				wide := eval[int](t, b, `document.documentElement.scrollWidth`)
				assert.LessOrEqual(t, wide, int(width))
				assert.Empty(t, eval[[]string](t, b, `
					[...document.querySelectorAll("pre,code[dir]")].flatMap(box => {
						const o = box.getBoundingClientRect(), s = getComputedStyle(box)
						if (!s.contain.includes("content")) return [box.outerHTML.slice(0, 200)]
						return [...box.querySelectorAll("b,i,mark,bdi")].filter(e => {
							const r = e.getBoundingClientRect()
							return r.left < o.left - 1 || r.right > o.right + 1
						}).map(e => e.outerHTML.slice(0, 200)) })`))
			}
			b.quiet(t)
		})
	}
}

// What must not happen is seen when it does.
func TestTabSees(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.html")
	const bad = `<!DOCTYPE html><img src="http://127.0.0.1:9/x"><script>console.log(1); throw "x"</script>`
	require.NoError(t, os.WriteFile(file, []byte(bad), 0o666))
	b := newTab(t)
	b.open(t, file)
	time.Sleep(300 * time.Millisecond)
	b.mu.Lock()
	defer b.mu.Unlock()
	seen := strings.Join(b.wrong, "\n")
	for _, want := range []string{"a request for http://127", "an error of a script", "a message of"} {
		assert.Contains(t, seen, want)
	}
}

// The counts on the page are those of the library.
func TestCounts(t *testing.T) {
	data, err := os.ReadFile(demo)
	require.NoError(t, err)
	for _, flags := range [][]string{
		demoFlags, {"-max-bytes", "3000"}, {"-format", "markdown"},
		{"-omitted", "-checksum"}, {"-bare"},
	} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			b := newTab(t)
			file, r := view(t, string(data), flags...)
			b.open(t, file)
			rows := eval[[][]string](t, b, `[...document.querySelectorAll(".items tbody tr")].
				map(row => [...row.cells].map(c => c.innerText))`)
			require.Len(t, rows, len(r.Items))
			for i, row := range rows {
				assert.Equal(t, strconv.Itoa(i), row[0])
				outcome, _, _ := strings.Cut(row[2], ":")
				assert.Equal(t, r.Items[i].Outcome, outcome)
				assert.Equal(t, r.Items[i].Source, plain(t, row[3]))
				assert.Equal(t, r.Items[i].Delivered, plain(t, row[4]))
			}
			sum, amounts := 0, 0
			for k, row := range eval[[][]string](t, b, `[...document.querySelectorAll(
				"#budget table:first-of-type tbody tr")].filter(r => r.cells.length == 7).
				map(row => [...row.cells].map(c => c.innerText))`) {
				amounts += plain(t, row[5])
				sum += plain(t, row[2]) + plain(t, row[3]) + plain(t, row[4])
				if k == 0 {
					sum += plain(t, row[5])
				}
			}
			assert.Equal(t, r.Bytes, sum)
			assert.Equal(t, r.Bytes, amounts)
			b.quiet(t)
		})
	}
}

// plain is a number with its thousands apart; "" is none.
func plain(t *testing.T, s string) int {
	if s == "" {
		return 0
	}
	n, err := strconv.Atoi(strings.ReplaceAll(s, ",", ""))
	require.NoError(t, err)
	return n
}

// A page of 200 items is there in less than a second.
func TestMany(t *testing.T) {
	var input strings.Builder
	for i := range 200 {
		fmt.Fprintf(&input, `{"citation":{"id":%d},"content":"%s\u2028%s"}`+"\n",
			i, strings.Repeat("Some words of a page, as they come. ", 20),
			"END_POWERCONTEXT_PREPARED_CONTEXT_V1")
	}
	b := newTab(t)
	file, _ := view(t, input.String(), "-max-bytes", "-1", "-max-items", "-1")
	info, err := os.Stat(file)
	require.NoError(t, err)
	least := time.Hour
	for range 5 { // the machine may do other things
		require.NoError(t, chromedp.Do(b.ctx, chromedp.Navigate("about:blank")))
		start := time.Now()
		require.NoError(t, chromedp.Do(b.ctx, chromedp.Navigate("file://"+file)))
		height := eval[int](t, b, `document.body.offsetHeight`)
		took := time.Since(start)
		least = min(least, took)
		t.Logf("200 items, %d bytes, %d pixels high: %s", info.Size(), height, took)
	}
	assert.Less(t, least, time.Second)
}

// axe is the source of axe-core, which npm installs if it is to be had.
var axe = sync.OnceValues(func() (string, error) {
	file := "node_modules/axe-core/axe.min.js"
	if _, err := os.Stat(file); err != nil {
		out, err := exec.Command("npm", "install", "--no-package-lock", "--silent").CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("%w %s", err, out)
		}
	}
	data, err := os.ReadFile(file)
	return string(data), err
})

// axe-core, which looks for what keeps people from using a page, finds nothing.
func TestAccessible(t *testing.T) {
	source, err := axe()
	if err != nil {
		t.Skipf("no axe-core here: %s", err)
	}
	data, err := os.ReadFile(demo)
	require.NoError(t, err)
	pages := map[string][]string{
		"demo": demoFlags, "markdown": {"-format", "markdown"}, "bare": {"-bare"},
		"short": {"-max-bytes", "700"}, "text": {"-text"},
	}
	for name, flags := range pages {
		t.Run(name, func(t *testing.T) {
			file, _ := view(t, string(data), flags...)
			b := newTab(t)
			b.open(t, file)
			b.do(t, source)
			for _, scheme := range []string{"light", "dark"} {
				b.media(t, "", scheme)
				for _, width := range []int64{1200, 360} {
					b.size(t, width, 800, 1)
					for _, before := range []string{"0", openAll} {
						b.do(t, before)
						found := eval[[]string](t, b, `
							axe.run(document, {resultTypes: ["violations"]}).then(r =>
								r.passes.length < 20 ? ["it has looked at nothing"] :
								r.violations.map(v => v.id + ": " + v.help + ": " +
									v.nodes.slice(0, 3).map(n =>
										n.html.slice(0, 150) + n.failureSummary).join("; ")))`)
						assert.Empty(t, found, "%s at %d", scheme, width)
					}
				}
			}
		})
	}
}

// The pictures are for people to look at: the folder that ENVELOPE_PICTURES names gets them.
func TestPictures(t *testing.T) {
	dir := os.Getenv("ENVELOPE_PICTURES")
	if dir == "" {
		t.Skip("ENVELOPE_PICTURES names no folder")
	}
	data, err := os.ReadFile(demo)
	require.NoError(t, err)
	file, _ := view(t, string(data), demoFlags...)
	b := newTab(t)
	b.open(t, file)
	shoot := func(name string) {
		picture, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), picture, 0o666))
	}
	for _, scheme := range []string{"light", "dark"} {
		b.media(t, "", scheme)
		b.size(t, 1200, 800, 1)
		shoot(scheme + ".png")
		b.size(t, 360, 740, 2)
		shoot("phone-" + scheme + ".png")
	}
	b.media(t, "print", "dark")
	b.size(t, 760, 1000, 1)
	shoot("print.png")

	// The picture of the README: what the page says first.
	b.media(t, "", "light")
	b.size(t, 800, 600, 1)
	end := eval[float64](t, b, `document.querySelector("#budget").getBoundingClientRect().top`)
	yes := true
	picture := must(t, b, page.CaptureScreenshot, page.CaptureScreenshotParams{
		CaptureBeyondViewport: &yes,
		Clip:                  &page.Viewport{Width: 800, Height: end - 16, Scale: 1},
	})
	small := fewColors(t, picture.Data)
	assert.Less(t, len(small), 80<<10)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "view.png"), small, 0o666))
}

// fewColors is a picture with the colors that most of it has, so that it takes few bytes.
func fewColors(t *testing.T, picture []byte) []byte {
	full, err := png.Decode(bytes.NewReader(picture))
	require.NoError(t, err)
	counts := map[color.Color]int{}
	for y := range full.Bounds().Dy() {
		for x := range full.Bounds().Dx() {
			counts[full.At(x, y)]++
		}
	}
	colors := slices.SortedFunc(maps.Keys(counts), func(a, b color.Color) int {
		return cmp.Or(counts[b]-counts[a], strings.Compare(fmt.Sprint(a), fmt.Sprint(b)))
	})
	few := image.NewPaletted(full.Bounds(), colors[:min(32, len(colors))])
	draw.Draw(few, few.Bounds(), full, image.Point{}, draw.Src)
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	require.NoError(t, encoder.Encode(&out, few))
	return out.Bytes()
}
