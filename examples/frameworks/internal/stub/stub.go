// Package stub stands for a provider's server, in tests.
package stub

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// Server answers each request with the next of the answers, the last one again when there are no
// more, and keeps what the requests say.
func Server(t testing.TB, answers ...string) (url string, requests *[]string) {
	requests = new([]string)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		*requests = append(*requests, string(body))
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answers[min(len(*requests), len(answers))-1])
	}))
	t.Cleanup(server.Close)
	return server.URL, requests
}
