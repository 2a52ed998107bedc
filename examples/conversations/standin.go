package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
)

// standIn is a server that answers with replies that were written before, as the API would, and
// keeps what it was asked.
type standIn struct {
	*httptest.Server
	mu       sync.Mutex
	replies  []string
	requests [][]byte
}

func newStandIn(replies []string) *standIn {
	s := &standIn{replies: replies}
	s.Server = httptest.NewServer(http.HandlerFunc(s.answer))
	return s
}

func (s *standIn) answer(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || len(s.replies) == 0 {
		http.Error(w, "no reply was written for this request", http.StatusBadRequest)
		return
	}
	s.requests = append(s.requests, body)
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, s.replies[0])
	s.replies = s.replies[1:]
}

// last is what was asked last.
func (s *standIn) last() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[len(s.requests)-1]
}
