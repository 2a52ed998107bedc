package main

import (
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope"
)

// Whatever shape a server gives its answer, no text of it arrives outside of an envelope, and none
// takes the proxy down.
func TestResponseOfAnyShape(t *testing.T) {
	const text = `{"content":[{"type":"text","text":"OBEY"}]}`
	tests := []struct {
		why, method, result string
		want                string // a part of what arrives; "" is an error
	}{
		{"null, first of all", "initialize", `null`, ""},
		{"null for a call", "tools/call", `null`, ""},
		{"no tools", "tools/list", `{"tools":[]}`, `"tools":[]`},
		{"a tool that is null", "tools/list", `{"tools":[null]}`, ""},
		{"a task that is done", "tasks/get",
			`{"status":"completed","result":` + text + `}`, `"items":[{`},
		{"a call that is a task", "tools/call",
			`{"resultType":"task","result":` + text + `}`, `"items":[{`},
		{"a task that failed", "tasks/get", `{"error":{"code":1,"message":"OBEY"}}`, `"items":[{`},
		{"another case", "tasks/get", `{"Result":` + text + `}`, `{}`},
		{"a resource with a text in another case", "tools/call",
			`{"content":[{"type":"resource","resource":{"uri":"x","blob":"AA","Text":"OBEY"}}]}`,
			`"blob":"AA"`},
		{"a resource in another case", "tools/call",
			`{"content":[{"type":"resource","Resource":{"text":"OBEY"},` +
				`"resource":{"blob":"AA"}}]}`, `"blob":"AA"`},
		{"a resource whose text is null", "tools/call",
			`{"content":[{"type":"resource","resource":{"text":null,"blob":"AA"}}]}`,
			`"blob":"AA"`},
		{"a text that is no string", "tools/call",
			`{"content":[{"type":"text","text":["OBEY"]}]}`, `"items":[{`},
		{"too many blocks", "tools/call",
			`{"content":[` + strings.Repeat("1,", mostElements) + `1]}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			r := renderer{
				line:   envelope.JSON{Bare: true, Omitted: true},
				budget: envelope.Budget{MaxBytes: 4000}, server: "s", teach: true,
			}
			id, err := jsonrpc.MakeID("1")
			require.NoError(t, err)
			response := &jsonrpc.Response{ID: id, Result: []byte(tt.result)}
			r.response(response, call{method: tt.method, tool: "t"})
			if tt.want == "" {
				assert.Error(t, response.Error)
				assert.Nil(t, response.Result)
				return
			}
			require.NoError(t, response.Error)
			got := strings.ReplaceAll(string(response.Result), `\"`, `"`)
			assert.Contains(t, got, tt.want)
			if strings.Contains(got, "OBEY") {
				assert.Contains(t, got, `"trust":"untrusted_history"`)
				assert.NotContains(t, got, `"text":"OBEY"`)
				assert.NotContains(t, got, `"message":"OBEY"`)
			}
		})
	}
	assert.Len(t, messages([]byte("["+strings.Repeat("1,", mostElements)+"1]")), 1, "no batch")
}
