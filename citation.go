package envelope

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"hash/maphash"
	"iter"
	"math"
	"strconv"
	"strings"

	"github.com/untrusted-context/envelope/internal/encode"
	"github.com/untrusted-context/envelope/internal/quote"
	"github.com/untrusted-context/envelope/internal/strictjson"
)

// ArtifactRef names one revision of a stored artifact. Any family and revision will do; an
// artifact id is needed.
type ArtifactRef struct {
	Family     string `json:"family"`
	ArtifactID string `json:"artifact_id"`
	Revision   int64  `json:"revision"`
}

// MemoryCitation names one version of an entry of a memory. Without a Scope it is local: it
// belongs to the renderer's scope.
type MemoryCitation struct {
	Scope          string
	Memory         ArtifactRef
	EntryID        string
	EntryVersionID string
}

// ArtifactCitation names a whole artifact. Without a Scope it is local: it belongs to the
// renderer's scope.
type ArtifactCitation struct {
	Scope    string
	Artifact ArtifactRef
}

// MarshalJSON writes the citation as a [JSON] renderer without a scope does.
func (c MemoryCitation) MarshalJSON() ([]byte, error) { return marshalCitation(c) }

// UnmarshalJSON reads a memory citation, local or qualified, as a [JSON] renderer writes it, with
// its members in any order. Anything else is an error.
func (c *MemoryCitation) UnmarshalJSON(data []byte) error {
	read, err := unmarshalCitation(data, memoryForm)
	if err == nil {
		*c = read.MemoryCitation
	}
	return err
}

// MarshalJSON writes the citation as a [JSON] renderer without a scope does.
func (c ArtifactCitation) MarshalJSON() ([]byte, error) { return marshalCitation(c) }

// UnmarshalJSON reads an artifact citation, local or qualified, as a [JSON] renderer writes it,
// with its members in any order. Anything else is an error.
func (c *ArtifactCitation) UnmarshalJSON(data []byte) error {
	read, err := unmarshalCitation(data, artifactForm)
	if err == nil {
		*c = ArtifactCitation{read.Scope, read.Memory}
	}
	return err
}

func marshalCitation(v any) ([]byte, error) {
	var c citation
	c.take(v)
	if err := c.validate(lineQuoter); err != nil {
		err.Item = -1
		return nil, err
	}
	return c.appendJSON(nil, lineQuoter), nil
}

func unmarshalCitation(data []byte, form citationForm) (citation, error) {
	c, err := objectCitation(json.RawMessage(data))
	if err != nil {
		err.Item = -1
		return c, err
	}
	if c.form != form {
		err := citationError(ErrNotCitation, -1)
		err.Item = -1
		return c, err
	}
	return c, nil
}

// citation is an item's citation as both renderers write it.
type citation struct {
	MemoryCitation // of an artifact without the entry; the Scope is "" when the renderer's

	form   citationForm
	object []byte // of any other citation: the compact JSON object
	key    []byte // the same with its strings spelt one way, to compare
	lacks  string // once it is resolved, what lacking returns
	asIs   bool   // its strings are ASCII that the renderer writes as it is
	parsed bool   // to resolve it took more than a look
}

type citationForm uint8

const (
	noCitation citationForm = iota
	memoryForm
	artifactForm
	objectForm
)

// resolve makes c, which is zero, what v cites, seen from the scope of a renderer that writes with
// t. What lacks an id is not checked further.
func (c *citation) resolve(v any, scope string, t *quote.Escaper) *Error {
	if !c.take(v) {
		var err *Error
		if *c, err = objectCitation(v); err != nil {
			return err
		}
		c.parsed = true
	}
	if c.lacks = c.lacking(); c.lacks != "" {
		return nil
	}
	if err := c.validate(t); err != nil {
		return err
	}
	if c.Scope == scope {
		c.Scope = ""
	}
	return nil
}

// take makes c, which is zero, what v cites if that is nil or of a type of this package, and
// reports whether it is.
func (c *citation) take(v any) bool {
	switch v := v.(type) {
	case nil:
	case MemoryCitation:
		c.form, c.MemoryCitation = memoryForm, v
	case ArtifactCitation:
		c.form, c.Scope, c.Memory = artifactForm, v.Scope, v.Artifact
	case *MemoryCitation:
		return v == nil || c.take(*v)
	case *ArtifactCitation:
		return v == nil || c.take(*v)
	default:
		return false
	}
	return true
}

// lacking returns the field of c that an item needs and that is missing or blank, or "".
func (c *citation) lacking() string {
	none := func(id string) bool { return quote.Blank(id, len(id)) }
	own, entry := c.form == memoryForm || c.form == artifactForm, c.form == memoryForm
	switch {
	case c.form == noCitation:
		return "citation"
	case own && none(c.Memory.ArtifactID):
		return "citation.artifact_id"
	case entry && none(c.EntryID):
		return "citation.entry_id"
	case entry && none(c.EntryVersionID):
		return "citation.entry_version_id"
	}
	return ""
}

// validate checks that the strings of c are UTF-8, and notes whether t writes them as they are.
func (c *citation) validate(t *quote.Escaper) *Error {
	c.asIs = t.Plain(c.Scope) && t.Plain(c.Memory.Family) && t.Plain(c.Memory.ArtifactID) &&
		t.Plain(c.EntryID) && t.Plain(c.EntryVersionID)
	if c.asIs {
		return nil
	}
	for _, f := range [...]struct{ value, name string }{
		{c.Scope, "citation.scope_id"},
		{c.Memory.Family, "citation.family"},
		{c.Memory.ArtifactID, "citation.artifact_id"},
		{c.EntryID, "citation.entry_id"},
		{c.EntryVersionID, "citation.entry_version_id"},
	} {
		if bad := quote.FirstInvalid(f.value); bad >= 0 {
			return &Error{Err: ErrInvalidUTF8, Field: f.name, Offset: bad}
		}
	}
	return nil
}

func (c *citation) equal(d *citation) bool {
	return c.form == d.form && c.MemoryCitation == d.MemoryCitation && bytes.Equal(c.key, d.key)
}

// hash mixes what equal compares. Every part of it goes through the seeded hash, the revision
// too: an item's author must not be able to choose citations that collide.
func (c *citation) hash(kind string) uint64 {
	const odd = 0x9e3779b97f4a7c15
	var revision [9]byte
	binary.LittleEndian.PutUint64(revision[:], uint64(c.Memory.Revision))
	revision[8] = byte(c.form)
	h := maphash.Bytes(hashSeed, revision[:])
	for _, s := range [...]string{
		kind, c.Scope, c.Memory.Family, c.Memory.ArtifactID, c.EntryID, c.EntryVersionID,
	} {
		h = h*odd + maphash.String(hashSeed, s)
	}
	return h*odd + maphash.Bytes(hashSeed, c.key)
}

// glance is a cheap hash, for citations of which it does no harm when all collide.
func (c *citation) glance() uint64 {
	const odd = 0x9e3779b97f4a7c15
	id := c.EntryID
	if c.form != memoryForm {
		id = c.Memory.ArtifactID
	}
	h := uint64(c.Memory.Revision)*odd + uint64(len(c.key))
	h = h*odd + uint64(len(id)) + quote.LastWord(id)
	h = h*odd + uint64(len(c.EntryVersionID)) + quote.LastWord(c.EntryVersionID)
	return h * odd
}

var hashSeed = maphash.MakeSeed()

// appendJSON appends c as a JSON object, escaped, its markers not yet broken.
func (c *citation) appendJSON(dst []byte, t *quote.Escaper) []byte {
	switch {
	case c.form == objectForm:
		return t.AppendEncoded(dst, c.object)
	case c.form == memoryForm && c.Scope == "":
		dst = append(dst, `{"memory_ref":{"family":"`...)
	case c.form == memoryForm:
		dst = c.appendText(append(dst, `{"memory":{"scope_id":"`...), t, c.Scope)
		dst = append(dst, `","artifact":{"family":"`...)
	case c.Scope == "":
		dst = append(dst, `{"artifact_ref":{"family":"`...)
	default:
		dst = c.appendText(append(dst, `{"artifact":{"scope_id":"`...), t, c.Scope)
		dst = append(dst, `","artifact":{"family":"`...)
	}
	dst = c.appendText(dst, t, c.Memory.Family)
	dst = c.appendText(append(dst, `","artifact_id":"`...), t, c.Memory.ArtifactID)
	dst = strconv.AppendInt(append(dst, `","revision":`...), c.Memory.Revision, 10)
	if c.Scope != "" {
		dst = append(dst, '}')
	}
	if c.form == artifactForm {
		return append(dst, "}}"...)
	}
	dst = c.appendText(append(dst, `},"entry_id":"`...), t, c.EntryID)
	dst = c.appendText(append(dst, `","entry_version_id":"`...), t, c.EntryVersionID)
	return append(dst, `"}`...)
}

// appendText appends the inside of a string of c.
func (c *citation) appendText(dst []byte, t *quote.Escaper, s string) []byte {
	if c.asIs {
		return append(dst, s...)
	}
	dst, _, _ = t.AppendString(dst, s, math.MaxInt)
	return dst
}

// fewer reports that c is one of this package's citations, plain, and has no string of n bytes.
func (c *citation) fewer(n int) bool {
	longest := max(len(c.Scope), len(c.Memory.Family), len(c.Memory.ArtifactID),
		len(c.EntryID), len(c.EntryVersionID))
	return c.asIs && c.form != objectForm && longest < n
}

// leastBytes is a length that appendJSON never falls below.
func (c *citation) leastBytes() int {
	return len(c.object) + len(c.Scope) + len(c.Memory.Family) + len(c.Memory.ArtifactID) +
		len(c.EntryID) + len(c.EntryVersionID)
}

// objectCitation encodes a citation of any other type. One that has the shape of this package's
// types is read as that.
func objectCitation(v any) (citation, *Error) {
	c := citation{form: objectForm}
	if pointer, _ := v.(*json.RawMessage); pointer != nil {
		v = *pointer
	}
	raw, spelt := v.(json.RawMessage)
	if !spelt {
		data, err := encode.JSON(v, strictjson.MaxDepth)
		if fault, ok := err.(*strictjson.Error); ok {
			return c, citationError(fault.Sentinel(), fault.Offset)
		}
		if err != nil {
			return c, &Error{Err: ErrNotObject, Field: "citation", Offset: -1, cause: err}
		}
		raw = data
	}
	if len(raw) == 0 {
		return citation{}, nil
	}
	if own, ok := exact(string(raw)); ok {
		return own, nil
	}
	s := strictjson.Scanner{Data: raw}
	start, end, fault := s.Whole()
	switch {
	case fault != nil:
		return c, citationError(fault.Sentinel(), fault.Offset)
	case string(raw[start:end]) == "null":
		return citation{}, nil
	case raw[start] != '{':
		return c, citationError(ErrNotObject, start)
	}
	c.key = appendCompact(make([]byte, 0, end-start), raw[start:end], lineQuoter)
	c.object = c.key
	if spelt {
		// A raw message keeps its spelling; the strings of other values are spelt in one way.
		c.object = strictjson.AppendCompact(make([]byte, 0, end-start), raw[start:end])
	}
	if own, ok := shaped(c.key); ok {
		return own, nil
	}
	return c, nil
}

func citationError(what error, offset int) *Error {
	return &Error{Err: what, Field: "citation", Offset: offset}
}

// appendCompact appends a strict value without white space between its tokens and with its
// strings as t writes them.
func appendCompact(dst, value []byte, t *quote.Escaper) []byte {
	for i := 0; i < len(value); {
		c := value[i]
		end := i + 1
		switch {
		case strictjson.IsSpace(c):
		case c != '"':
			dst = append(dst, c)
		default:
			end = strictjson.StringEnd(value, i)
			dst = t.AppendLiteral(dst, string(strictjson.Decode(value[i:end])))
		}
		i = end
	}
	return dst
}

// exact reads what appendJSON writes of a citation of this package's types, as long as its strings
// are plain. It is what shaped would return, without the steps that other objects take to there.
func exact(object string) (c citation, ok bool) {
	r := exactReader{rest: object}
	switch {
	case r.eat(`{"memory_ref":`):
		c.form, c.Memory = memoryForm, r.ref()
	case r.eat(`{"memory":{"scope_id":"`):
		c.form, c.Scope, c.Memory = memoryForm, r.text(`","artifact":`), r.ref()
		r.must(`}`)
	case r.eat(`{"artifact_ref":`):
		c.form, c.Memory = artifactForm, r.ref()
	case r.eat(`{"artifact":{"scope_id":"`):
		c.form, c.Scope, c.Memory = artifactForm, r.text(`","artifact":`), r.ref()
		r.must(`}`)
	}
	if c.form == memoryForm {
		r.must(`,"entry_id":"`)
		c.EntryID = r.text(`","entry_version_id":"`)
		c.EntryVersionID = r.text(`"`)
	}
	r.must(`}`)
	return c, !r.bad && r.rest == ""
}

// exactReader reads an object from left to right; bad says that it was another.
type exactReader struct {
	rest string
	bad  bool
}

func (r *exactReader) eat(prefix string) (ok bool) {
	r.rest, ok = strings.CutPrefix(r.rest, prefix)
	return ok
}

func (r *exactReader) must(prefix string) { r.bad = !r.eat(prefix) || r.bad }

func (r *exactReader) ref() (ref ArtifactRef) {
	r.must(`{"family":"`)
	ref.Family = r.text(`","artifact_id":"`)
	ref.ArtifactID = r.text(`","revision":`)
	digits, rest, _ := strings.Cut(r.rest, "}")
	ref.Revision, _ = strconv.ParseInt(digits, 10, 64) // what is not one is written differently
	r.bad = strconv.FormatInt(ref.Revision, 10) != digits || r.bad
	r.rest = rest
	return ref
}

// text reads a string after its opening quote, and then end, which begins with the closing one.
func (r *exactReader) text(end string) string {
	n := max(strings.IndexByte(r.rest, '"'), 0)
	s := r.rest[:n]
	r.rest = r.rest[n:]
	r.must(end)
	r.bad = !lineQuoter.Plain(s) || r.bad
	return s
}

// shaped reads a strict, compact object that has one of the four shapes of this package's types,
// in any order of members. Where an id is absent or null the shape still counts, and the citation
// lacks it.
func shaped(object []byte) (c citation, ok bool) {
	var r shapeReader
	for name, value := range members(object) {
		switch name {
		case "memory_ref", "artifact_ref":
			r.refs++
			r.scope = true // needs none
			ok = r.ref(value)
		case "memory", "artifact":
			r.refs++
			ok = r.qualified(value)
		case "entry_id":
			ok = text(value, &r.EntryID)
		case "entry_version_id":
			ok = text(value, &r.EntryVersionID)
		default:
			return c, false
		}
		if !ok {
			return c, false
		}
		switch name[0] {
		case 'm':
			r.form = memoryForm
		case 'a':
			r.form = artifactForm
		default:
			r.entries = true
		}
	}
	if r.refs != 1 || r.entries && r.form != memoryForm {
		return c, false
	}
	return r.citation, r.lacking() != "" || r.scope && r.family && r.revision
}

// shapeReader is a citation in the making, and what of it has been read.
type shapeReader struct {
	citation
	refs                             int
	scope, family, revision, entries bool
}

func (r *shapeReader) qualified(value []byte) bool {
	return eachMember(value, func(name string, value []byte) bool {
		switch name {
		case "scope_id":
			r.scope = value[0] == '"'
			return text(value, &r.Scope)
		case "artifact":
			return r.ref(value)
		}
		return false
	})
}

func (r *shapeReader) ref(value []byte) bool {
	return eachMember(value, func(name string, value []byte) bool {
		switch name {
		case "family":
			r.family = value[0] == '"'
			return text(value, &r.Memory.Family)
		case "artifact_id":
			return text(value, &r.Memory.ArtifactID)
		case "revision":
			n, _ := strconv.ParseInt(string(value), 10, 64)
			r.Memory.Revision = n
			r.revision = strconv.FormatInt(n, 10) == string(value) // else it is none
			return value[0] == '-' || '0' <= value[0] && value[0] <= '9'
		}
		return false
	})
}

// eachMember reports whether value is null or an object of which read takes each member.
func eachMember(value []byte, read func(name string, value []byte) bool) bool {
	if value[0] != '{' {
		return string(value) == "null"
	}
	for name, value := range members(value) {
		if !read(name, value) {
			return false
		}
	}
	return true
}

// text reads a string, or a null as the empty one.
func text(value []byte, into *string) bool {
	if value[0] == '"' {
		*into = string(strictjson.Decode(value))
		return true
	}
	return string(value) == "null"
}

// members yields the members of a strict, compact object: decoded names, encoded values.
func members(object []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		s := strictjson.Scanner{Data: object}
		for _, m := range s.Members(0) {
			if !yield(string(m.Name), object[m.ValueStart:m.ValueEnd]) {
				return
			}
		}
	}
}
