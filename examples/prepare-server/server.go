package main

import (
	"bytes"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"log"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/untrusted-context/envelope"
)

// server answers from a store.
type server struct {
	store   *store
	token   string           // what a request must carry, "" for nothing
	escape  envelope.Escape  // of envelopes, beyond the line boundaries
	wrapper envelope.Wrapper // the zero value is PowerContext's
}

// handler serves POST /v1/context/prepare.
func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/context/prepare", func(w http.ResponseWriter, r *http.Request) {
		response, err := s.prepare(w, r)
		var refusal *refusal
		switch {
		case errors.As(err, &refusal):
			respond(w, refusal.status, refusal.json())
		case err != nil:
			log.Print("prepare: ", err)
			respond(w, http.StatusInternalServerError, []byte(`{"error":"internal"}`))
		default:
			respond(w, http.StatusOK, response)
		}
	})
	return mux
}

func respond(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client has gone, or has it
}

// refusal is a request that is not served. It names the member at fault and does not hold what it
// said.
type refusal struct {
	status       int
	what, member string
}

func (r *refusal) Error() string { return r.what + " " + r.member }

func (r *refusal) json() []byte {
	data, _ := json.Marshal(struct {
		Error  string `json:"error"`
		Member string `json:"member,omitempty"`
	}{r.what, r.member})
	return data
}

// mostRequest is more than the longest query takes, with every character of it spelt as an escape.
const mostRequest = 256 << 10

func (s *server) prepare(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	credentials := []byte(r.Header.Get("Authorization"))
	if s.token != "" && subtle.ConstantTimeCompare(credentials, []byte("Bearer "+s.token)) != 1 {
		return nil, &refusal{http.StatusUnauthorized, "not authorized", ""}
	}
	// A page in a browser can send any other type here without asking.
	if kind, _, err := mime.ParseMediaType(
		r.Header.Get("Content-Type"),
	); err != nil || kind != "application/json" {
		return nil, &refusal{
			http.StatusUnsupportedMediaType, "the content type is application/json", "",
		}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostRequest))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, &refusal{http.StatusRequestEntityTooLarge, "too large", ""}
	case err != nil:
		return nil, &refusal{http.StatusBadRequest, "cut short", ""}
	}
	request, err := readRequest(body)
	if err != nil {
		return nil, err
	}
	items, err := s.store.search(r.Context(), request.scope, request.query)
	if err != nil {
		return nil, err
	}
	budget := envelope.Budget{MaxBytes: request.maxBytes}
	var prepared envelope.Prepared
	if request.markdown == nil {
		j := envelope.JSON{Wrapper: s.wrapper, Scope: request.scope, Escape: s.escape}
		prepared, err = j.Render(items, budget)
	} else {
		request.markdown.Wrapper, request.markdown.Scope = s.wrapper, request.scope
		prepared, err = request.markdown.Render(items, budget)
	}
	var option *envelope.Error
	if errors.As(err, &option) {
		return nil, &refusal{http.StatusUnprocessableEntity, "not a legal value", "assembly"}
	}
	if err != nil {
		return nil, err
	}
	return prepared.MarshalJSON()
}

// request is what is asked.
type request struct {
	scope, query string
	maxBytes     int
	markdown     *envelope.Markdown // nil: an envelope
}

func readRequest(body []byte) (request, error) {
	q := request{maxBytes: 8000}
	members, err := readObject(body)
	if err != nil {
		return q, &refusal{http.StatusBadRequest, "not one JSON object", ""}
	}
	wrong := func(member string) error {
		return &refusal{http.StatusUnprocessableEntity, "not a legal value", member}
	}
	for name, value := range members {
		switch name {
		case "scope_id":
			if readString(value, &q.scope) != nil || !legalScope(q.scope) {
				return q, wrong(name)
			}
		case "query":
			if readString(
				value, &q.query,
			) != nil || utf8.RuneCountInString(q.query) > 8192 || strings.TrimSpace(q.query) == "" {
				return q, wrong(name)
			}
		case "max_bytes":
			if q.maxBytes, err = strconv.Atoi(
				string(value),
			); err != nil || q.maxBytes < 512 || q.maxBytes > 32768 {
				return q, wrong(name)
			}
		case "assembly":
			if q.markdown, err = readAssembly(value); err != nil {
				return q, wrong(name)
			}
		default:
			return q, &refusal{http.StatusUnprocessableEntity, "unknown member", ""}
		}
	}
	for _, name := range []string{"scope_id", "query"} {
		if members[name] == nil {
			return q, &refusal{http.StatusUnprocessableEntity, "missing", name}
		}
	}
	return q, nil
}

var errAssembly = errors.New("not an assembly")

// readAssembly reads
// {"format":"markdown","sections":[{"family":…,"title":…,"limit":…}],"show":[…]}, of which only
// the first member has to be there.
func readAssembly(value []byte) (*envelope.Markdown, error) {
	members, err := readObject(value)
	if err != nil {
		return nil, err
	}
	var m envelope.Markdown
	format := ""
	for name, value := range members {
		switch name {
		case "format":
			err = readString(value, &format)
		case "sections":
			m.Sections, err = readSections(value)
		case "show":
			m.Show, err = readShow(value)
		default:
			err = errAssembly
		}
		if err != nil {
			return nil, err
		}
	}
	if format != "markdown" {
		return nil, errAssembly
	}
	return &m, nil
}

func readSections(value []byte) ([]envelope.Section, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(value, &list); err != nil || len(list) == 0 || len(list) > 16 {
		return nil, errAssembly
	}
	sections := make([]envelope.Section, len(list))
	for i, value := range list {
		members, err := readObject(value)
		if err != nil || members["family"] == nil {
			return nil, errAssembly
		}
		for name, value := range members {
			switch name {
			case "family":
				err = readString(value, &sections[i].Kind)
			case "title":
				err = readString(value, &sections[i].Title)
			case "limit":
				if sections[i].Limit, err = strconv.Atoi(string(value)); sections[i].Limit < 1 {
					err = errAssembly
				}
			default:
				err = errAssembly
			}
			if err != nil {
				return nil, err
			}
		}
	}
	return sections, nil
}

func readShow(value []byte) (show envelope.Show, err error) {
	var names []string
	if err := json.Unmarshal(value, &names); err != nil {
		return 0, err
	}
	for _, name := range names {
		switch name {
		case "confidence":
			show |= envelope.ShowConfidence
		case "recall_rank":
			show |= envelope.ShowRank
		default:
			return 0, errAssembly
		}
	}
	return show, nil
}

var errObject = errors.New("not one JSON object")

// readObject reads data as one object and nothing else. Decoding into a struct would take names
// in other cases for the same.
func readObject(data []byte) (map[string]json.RawMessage, error) {
	if !utf8.Valid(data) {
		return nil, errObject
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if opening, err := d.Token(); err != nil || opening != json.Delim('{') {
		return nil, errObject
	}
	members := map[string]json.RawMessage{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, errObject
		}
		key := name.(string) // what else stands there is an error
		var value json.RawMessage
		if _, twice := members[key]; twice || d.Decode(&value) != nil {
			return nil, errObject
		}
		members[key] = value
	}
	if _, err := d.Token(); err != nil {
		return nil, errObject
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errObject
	}
	return members, nil
}

// readString reads a string. Of anything else json.Unmarshal may leave s as it is, and of half a
// surrogate pair it makes U+FFFD: neither is what was said.
func readString(value []byte, s *string) error {
	if value[0] != '"' {
		return errors.New("not a string")
	}
	if err := json.Unmarshal(value, s); err != nil {
		return err
	}
	spelt := strings.ToLower(strings.ReplaceAll(string(value), `\\`, ""))
	if strings.Count(*s, "\ufffd") != strings.Count(
		spelt, "\ufffd",
	)+strings.Count(spelt, `\ufffd`) {
		return errors.New("an escape is half of a surrogate pair")
	}
	return nil
}
