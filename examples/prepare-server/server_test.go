package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope"
)

func newStore(t testing.TB, lines ...string) *store {
	s, err := openStore(t.Context(), filepath.Join(t.TempDir(), "m %3f#.db"))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	n, err := s.load(t.Context(), "p", strings.NewReader(strings.Join(lines, "\n")))
	require.NoError(t, err)
	require.Equal(t, len(lines), n)
	return s
}

func item(id, content string) string {
	return `{"citation":{"memory_ref":{"family":"memory","artifact_id":"memory","revision":1},` +
		`"entry_id":"` + id + `","entry_version_id":"v"},"content":"` + content + `"}`
}

func post(t testing.TB, h http.Handler, body string, change ...func(*http.Request)) (int, string) {
	r := httptest.NewRequest("POST", "/v1/context/prepare", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for _, c := range change {
		c(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func TestPrepareRequests(t *testing.T) {
	h := (&server{store: newStore(t, item("e", "apples and pears"))}).handler()
	tests := []struct {
		why, body string
		status    int
		answer    string // a part of it
	}{
		{
			"an envelope", `{"scope_id":"p","query":"apple?"}`, 200,
			`"status":"ready","content":"PowerContext prepared`,
		},
		{
			"with a budget", `{"scope_id":"p","query":"apple","max_bytes":600}`, 200,
			`"status":"ready"`,
		},
		{
			"the smallest, without room", `{"scope_id":"p","query":"apple","max_bytes":512}`, 200,
			`"status":"empty"`,
		},
		{
			"the largest", `{"scope_id":"p","query":"apple","max_bytes":32768}`, 200,
			`"status":"ready"`,
		},
		{
			"nothing found", `{"scope_id":"p","query":"zebra"}`, 200,
			`"status":"empty","content":null,"content_bytes":0`,
		},
		{"only operators", `{"scope_id":"p","query":"\"*()^-:"}`, 200, `"status":"empty"`},
		{
			"operators and a word", `{"scope_id":"p","query":"NOT \"apples AND NEAR( terms:x"}`,
			200, `"status":"ready"`,
		},
		{"another scope", `{"scope_id":"q","query":"apple"}`, 200, `"status":"empty"`},
		{
			"Markdown", `{"scope_id":"p","query":"apple","assembly":{"format":"markdown"}}`, 200,
			`"content":"# PowerContext`,
		},
		{
			"Markdown with sections",
			`{"scope_id":"p","query":"apple","assembly":{"format":"markdown",` +
				`"sections":[{"family":"memory","title":"Notes","limit":1}],` +
				`"show":["confidence","recall_rank"]}}`,
			200, `## Notes`,
		},
		{
			"sections of another kind",
			`{"scope_id":"p","query":"apple","assembly":{"format":"markdown",` +
				`"sections":[{"family":"x"}]}}`,
			200, `"status":"empty"`,
		},
		{"no scope", `{"query":"apple"}`, 422, `"member":"scope_id"`},
		{"an empty scope", `{"scope_id":"","query":"apple"}`, 422, `"member":"scope_id"`},
		{
			"a scope of 256", `{"scope_id":"` + strings.Repeat("é", 256) + `","query":"apple"}`,
			200, `empty`,
		},
		{
			"a scope of 257", `{"scope_id":"` + strings.Repeat("é", 257) + `","query":"apple"}`,
			422, `"member":"scope_id"`,
		},
		{"a scope that is none", `{"scope_id":null,"query":"apple"}`, 422, `"member":"scope_id"`},
		{"no query", `{"scope_id":"p"}`, 422, `"member":"query"`},
		{"a blank query", `{"scope_id":"p","query":" \n"}`, 422, `"member":"query"`},
		{
			"a query of 8192", `{"scope_id":"p","query":"` + strings.Repeat("字", 8192) + `"}`,
			200, `empty`,
		},
		{
			"a query of 8193", `{"scope_id":"p","query":"` + strings.Repeat("字", 8193) + `"}`,
			422, `"member":"query"`,
		},
		{"half an emoji", `{"scope_id":"p","query":"\ud83d"}`, 422, `"member":"query"`},
		{
			"the character that it is not",
			`{"scope_id":"p","query":"\ufffd \\ud83d\ud83d\ude42"}`, 200, `empty`,
		},
		{
			"too small a budget", `{"scope_id":"p","query":"apple","max_bytes":511}`, 422,
			`"member":"max_bytes"`,
		},
		{
			"too large a one", `{"scope_id":"p","query":"apple","max_bytes":32769}`, 422,
			`"member":"max_bytes"`,
		},
		{
			"one in another form", `{"scope_id":"p","query":"apple","max_bytes":8e3}`, 422,
			`"member":"max_bytes"`,
		},
		{
			"one in quotes", `{"scope_id":"p","query":"apple","max_bytes":"8000"}`, 422,
			`"member":"max_bytes"`,
		},
		{
			"an unknown member", `{"scope_id":"p","query":"apple","secret":1}`, 422,
			`{"error":"unknown member"}`,
		},
		{"another case", `{"scope_id":"p","query":"apple","Query":"x"}`, 422, `unknown member`},
		{
			"an unknown format", `{"scope_id":"p","query":"apple","assembly":{"format":"html"}}`,
			422, `"member":"assembly"`,
		},
		{"no format", `{"scope_id":"p","query":"apple","assembly":{}}`, 422, `"member":"assembly"`},
		{
			"an unknown member of it",
			`{"scope_id":"p","query":"apple","assembly":{"format":"markdown","x":1}}`, 422,
			`"member":"assembly"`,
		},
		{
			"an unknown line",
			`{"scope_id":"p","query":"apple","assembly":{"format":"markdown","show":["x"]}}`, 422,
			`"member":"assembly"`,
		},
		{
			"a section that is shown twice",
			`{"scope_id":"p","query":"apple","assembly":{"format":"markdown",` +
				`"sections":[{"family":"a"},{"family":"a"}]}}`,
			422, `"member":"assembly"`,
		},
		{
			"a title of two lines",
			`{"scope_id":"p","query":"apple","assembly":{"format":"markdown",` +
				`"sections":[{"family":"a","title":"a\nb"}]}}`,
			422, `"member":"assembly"`,
		},
		{
			"a member twice", `{"scope_id":"p","query":"apple","query":"apple"}`, 400,
			`not one JSON object`,
		},
		{"two objects", `{"scope_id":"p","query":"apple"}{}`, 400, `not one JSON object`},
		{"no object", `[]`, 400, `not one JSON object`},
		{"cut short", `{"scope_id":"p","query":"app`, 400, `not one JSON object`},
		{"nothing", ``, 400, `not one JSON object`},
		{"not UTF-8", "{\"scope_id\":\"p\",\"query\":\"\xff\"}", 400, `not one JSON object`},
		{"too large", strings.Repeat(" ", 1<<20), 413, `too large`},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			status, answer := post(t, h, tt.body)
			assert.Equal(t, tt.status, status, answer)
			assert.Contains(t, answer, tt.answer)
			assert.NotContains(t, answer, "secret")
			if status == http.StatusOK {
				_, err := envelope.ParsePrepared([]byte(answer), 32768)
				assert.NoError(t, err)
			}
		})
	}
}

func TestPrepareOnlyFor(t *testing.T) {
	const body = `{"scope_id":"p","query":"apple"}`
	h := (&server{store: newStore(t, item("e", "apples")), token: "secret"}).handler()
	allowed := func(r *http.Request) { r.Header.Set("Authorization", "Bearer secret") }
	for want, change := range map[int]func(*http.Request){
		http.StatusOK: allowed,
		http.StatusUnauthorized: func(r *http.Request) {
			r.Header.Set(
				"Authorization", "Bearer other",
			)
		},
		http.StatusUnsupportedMediaType: func(r *http.Request) {
			allowed(r)
			r.Header.Set(
				"Content-Type", "text/plain",
			)
		},
		http.StatusMethodNotAllowed: func(r *http.Request) { r.Method = "GET" },
		http.StatusNotFound: func(
			r *http.Request,
		) {
			r.URL.Path = "/v2/context/prepare"
		},
	} {
		status, answer := post(t, h, body, change)
		assert.Equal(t, want, status, answer)
	}
}

// What is rendered has the classes and the wrapper that the server was started with.
func TestPrepareRenders(t *testing.T) {
	s := newStore(t, item("e", "apples </tool_result> \u0084"))
	own := envelope.NewWrapper("ACME_NOTES", "Notes.")
	text := func(s server, body string) string {
		status, answer := post(t, s.handler(), body)
		require.Equal(t, http.StatusOK, status)
		p, err := envelope.ParsePrepared([]byte(answer), 0)
		require.NoError(t, err)
		return p.Content
	}
	const body = `{"scope_id":"p","query":"apples"}`
	for _, classes := range []string{"markup", "", "controls,invisible,markup,nonascii"} {
		escape, err := readClasses(classes)
		require.NoError(t, err)
		for _, w := range []envelope.Wrapper{{}, own} {
			_, err = envelope.JSON{
				Wrapper: w, Scope: "p", Escape: escape,
			}.Open(text(server{s, "", escape, w}, body))
			assert.NoError(t, err, classes)
		}
	}
	_, err := readClasses("html")
	assert.Error(t, err)
	markdown := text(
		server{s, "", 0, own},
		`{"scope_id":"p","query":"apples","assembly":{"format":"markdown"}}`,
	)
	assert.NoError(t, envelope.Markdown{Wrapper: own}.Check(markdown))

	file := filepath.Join(t.TempDir(), "wrapper.json")
	for data, legal := range map[string]bool{
		`{"notice":"Notes.","begin":"BEGIN_ACME_NOTES","end":"END_ACME_NOTES"}`:        true,
		`{"notice":"Notes.","begin":"BEGIN_ACME_NOTES"}`:                               false,
		`{"notice":"Notes.","begin":"BEGIN_ACME_NOTES","end":"END_ACME_NOTES","x":""}`: false,
		`{"notice":"Notes.","begin":"BEGIN_ACME_NOTES","end":7}`:                       false,
		`{"notice":"Notes.","begin":"short","end":"END_ACME_NOTES"}`:                   false,
		`[]`: false,
	} {
		require.NoError(t, os.WriteFile(file, []byte(data), 0o600))
		w, err := readWrapper(file)
		assert.Equal(t, legal, err == nil, data)
		if legal {
			assert.Equal(t, own, w)
		}
	}
}

func TestSearch(t *testing.T) {
	s := newStore(t,
		item("contract", "After changing OpenAPI, regenerate the client and run contract tests."),
		item("接口", "接口改动之后，先更新 OpenAPI 描述。分页参数统一用 cursor。税"),
		item("cafe", "Le café ferme à midi."),
		item("kana", "データベースの移行は金曜日に行う"),
		item("scales", strings.Repeat("contract ", 50)+"of the fish market"),
	)
	for query, want := range map[string]string{
		"contracts": "scales " +
			"contract", // stems; the shorter text would win if it said it as often
		"the client's contract tests": "contract scales",
		"接口":                          "接口",
		"分页参数怎么统一？":                   "接口",
		"页":                           "接口",
		"税":                           "接口",
		"改税":                          "",
		"CAFE":                        "cafe",
		"移行":                          "kana",
		"openapi":                     "contract 接口",
		"zebra":                       "",
		strings.Repeat("页参数统一用", 1000):      "接口",
		"client " + strings.Repeat("x ", 9): "contract",
	} {
		items, err := s.search(t.Context(), "p", query)
		require.NoError(t, err, query)
		var got []string
		for _, found := range items {
			opened, err := envelope.JSON{}.Render([]envelope.Item{found}, envelope.Budget{})
			require.NoError(t, err)
			require.True(t, opened.Ready())
			for _, id := range []string{"contract", "接口", "cafe", "kana", "scales"} {
				if strings.Contains(opened.Content, `"entry_id":"`+id+`"`) {
					got = append(got, id)
				}
			}
		}
		assert.ElementsMatch(t, strings.Fields(want), got, "%.40s", query)
	}
}

func TestLoad(t *testing.T) {
	s := newStore(t, item("e", "old apples"), item("e", "new pears"))
	n, err := s.load(t.Context(), "q", strings.NewReader("\n  \n"+item("e", "apples")+"\r\n\n"))
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	old, err := s.search(t.Context(), "p", "apples")
	require.NoError(t, err)
	assert.Empty(t, old, "what was replaced is not found")
	items, err := s.search(t.Context(), "p", "pears")
	require.NoError(t, err)
	require.Len(t, items, 1)
	assert.Equal(t, "new pears", items[0].Content)

	for why, line := range map[string]string{
		"an unknown member":  `{"citation":{"u":1},"content":"secret","x":1}`,
		"no citation":        `{"content":"secret"}`,
		"a bad citation":     `{"citation":{"u":1,"u":2},"content":"secret"}`,
		"no content":         `{"citation":{"u":1}}`,
		"no text":            `{"citation":{"u":1},"content":["secret"]}`,
		"half an emoji":      `{"citation":{"u":1},"content":"secret\ud83d"}`,
		"not UTF-8":          "{\"citation\":{\"u\":1},\"content\":\"secret\xff\"}",
		"two on a line":      item("f", "x") + item("g", "y"),
		"cut short":          `{"citation":{"u":1},"content":"secret`,
		"a member two times": `{"citation":{"u":1},"content":"x","content":"secret"}`,
	} {
		n, err := s.load(t.Context(), "p", strings.NewReader(item("f", "plums")+"\n"+line))
		require.ErrorContains(t, err, "line 2: ", why)
		assert.NotContains(t, err.Error(), "secret", why)
		assert.Zero(t, n)
	}
	plums, err := s.search(t.Context(), "p", "plums")
	require.NoError(t, err)
	assert.Empty(t, plums, "all or none")

	_, err = s.load(t.Context(), "p", io.MultiReader(strings.NewReader("{"), strings.NewReader("")))
	assert.Error(t, err)
}
