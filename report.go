package envelope

import (
	"encoding/json"
	"errors"
	"log/slog"
	"strconv"
)

// Outcome is what became of an item. Each item has exactly one, the first that applies in the order
// of [Unselected] to [NoRoom]; an item to which none of these applies is [Included] or [Truncated].
type Outcome uint8

// The outcomes.
const (
	// Included: delivered whole. In JSON the decoded content is then the source, byte for byte.
	Included Outcome = iota
	// Truncated: delivered as the longest prefix that fits, followed by an ellipsis (U+2026), which
	// stands for more than its own length.
	Truncated
	// Unselected: no section of the Markdown renderer takes its kind.
	Unselected
	// Uncited: its citation is nil, a raw message of no bytes or encodes to null, or it is of one
	// of this package's types, or an object of their shape, and lacks its artifact, entry or
	// version id. A blank id is lacking. ItemReport.Err says which is.
	Uncited
	// Malformed: invalid UTF-8 in the kind, the citation or the part of the content that
	// MaxItemBytes could deliver (of a bound above MaxBytes, and above 64 KiB, the larger of these
	// two), or a citation that does not encode to a strict JSON object or has a number that is
	// infinite as a binary64. ItemReport.Err says what and where.
	Malformed
	// Blank: its content is empty or only white space: Unicode's White_Space and U+001C to
	// U+001F. A content that begins with more white space than MaxItemBytes could deliver, and
	// than 64 KiB, is blank whatever follows.
	Blank
	// Duplicate: an earlier candidate has the same kind and citation. Candidates are the items to
	// which none of the outcomes up to here applies, whether or not they could be delivered.
	// Citations are the same when they are written the same, however their strings were spelt;
	// numbers and the order of members count.
	Duplicate
	// OverLimit: as many items as Budget.MaxItems or the section's limit allows are delivered
	// already.
	OverLimit
	// TooShort: it would have to be cut to less than Budget.MinTruncatedBytes.
	TooShort
	// NoRoom: not even its first character fits.
	NoRoom
)

var outcomes = [...]string{
	"included", "truncated", "unselected", "uncited", "malformed", "blank", "duplicate",
	"over-limit", "too-short", "no-room",
}

// String returns the outcome in lower case, with hyphens: "included", "over-limit". It returns
// "unknown" for a number that is none.
func (o Outcome) String() string {
	if int(o) < len(outcomes) {
		return outcomes[o]
	}
	return "unknown"
}

// MarshalText returns what String does; a number that is no outcome is an error.
func (o Outcome) MarshalText() ([]byte, error) {
	if int(o) >= len(outcomes) {
		return nil, optionError(ErrOption, "outcome", -1, "no outcome has this number")
	}
	return []byte(outcomes[o]), nil
}

// UnmarshalText reads what MarshalText writes, and nothing else.
func (o *Outcome) UnmarshalText(text []byte) error {
	for i, name := range outcomes {
		if name == string(text) {
			*o = Outcome(i)
			return nil
		}
	}
	return optionError(ErrOption, "outcome", -1, "no outcome has this name")
}

// Delivered reports whether the item is in the text.
func (o Outcome) Delivered() bool { return o == Included || o == Truncated }

// Report says what became of the items. As JSON it is
//
//	{"bytes":…,"tokens":…,"budget":{"max_bytes":…,"max_items":…,"max_item_bytes":…,
//	"min_truncated_bytes":…},"items":[…]}
//
// with an [ItemReport] and its "index" for each item, and without tokens where none were counted.
type Report struct {
	Bytes int // the length of the rendered text
	// Tokens is what the Budget's Counter said of the rendered text: 0 without one, and for no
	// text.
	Tokens int
	// Budget has the four bounds in bytes and items that were in force, defaults spelt out and
	// without Even, MaxTokens and Counter, for which it holds what they came to. The same renderer
	// renders the same items with it to the same text.
	Budget Budget
	Items  []ItemReport // one for each item of the input, in its order
}

// ItemReport says what became of one item. As JSON it is
//
//	{"outcome":"truncated","source_bytes":3000,"delivered_bytes":2000}
//
// with the message of Err as "error" where there is one.
type ItemReport struct {
	Outcome     Outcome
	SourceBytes int // the length of its content
	// DeliveredBytes is how much content is delivered, the ellipsis counted: decoded for JSON, as
	// displayed for Markdown.
	DeliveredBytes int
	// Err is an *Error that says where a Malformed item is wrong, or which id an Uncited one lacks.
	// It is nil for every other outcome.
	Err error
}

// Count returns how many items have the outcome.
func (r Report) Count(o Outcome) int {
	n := 0
	for i := range r.Items {
		if r.Items[i].Outcome == o {
			n++
		}
	}
	return n
}

// omitted counts the items that are left out although they say something, and something new.
func (r *Report) omitted() int {
	n := 0
	for i := range r.Items {
		if o := r.Items[i].Outcome; !o.Delivered() && o != Blank && o != Duplicate {
			n++
		}
	}
	return n
}

// Err returns the errors of the items, joined; nil when there are none.
func (r Report) Err() error {
	var errs []error
	for i := range r.Items {
		errs = append(errs, r.Items[i].Err)
	}
	return errors.Join(errs...)
}

// MarshalJSON writes the report without any content, as the command's -report does.
func (r Report) MarshalJSON() ([]byte, error) {
	var out []byte
	number := func(before string, n int) {
		out = strconv.AppendInt(append(out, before...), int64(n), 10)
	}
	number(`{"bytes":`, r.Bytes)
	if r.Tokens != 0 {
		number(`,"tokens":`, r.Tokens)
	}
	number(`,"budget":{"max_bytes":`, r.Budget.MaxBytes)
	number(`,"max_items":`, r.Budget.MaxItems)
	number(`,"max_item_bytes":`, r.Budget.MaxItemBytes)
	number(`,"min_truncated_bytes":`, r.Budget.MinTruncatedBytes)
	out = append(out, `},"items":[`...)
	for i := range r.Items {
		if i > 0 {
			out = append(out, ',')
		}
		number(`{"index":`, i)
		item, err := r.Items[i].MarshalJSON()
		if err != nil {
			return nil, err
		}
		item[0] = ','
		out = append(out, item...)
	}
	return append(out, "]}"...), nil
}

// MarshalJSON writes the report on the item without any content.
func (r ItemReport) MarshalJSON() ([]byte, error) {
	shown := struct {
		Outcome        Outcome `json:"outcome"`
		SourceBytes    int     `json:"source_bytes"`
		DeliveredBytes int     `json:"delivered_bytes"`
		Error          string  `json:"error,omitempty"`
	}{r.Outcome, r.SourceBytes, r.DeliveredBytes, ""}
	if r.Err != nil {
		shown.Error = r.Err.Error()
	}
	return json.Marshal(shown)
}

// LogValue is the report for package log/slog: a group of the text's bytes, of its tokens if they
// were counted and, for each outcome that there is, the number of items that have it. Nothing of
// any content or citation is in it.
func (r Report) LogValue() slog.Value {
	attrs := []slog.Attr{slog.Int("bytes", r.Bytes)}
	if r.Tokens != 0 {
		attrs = append(attrs, slog.Int("tokens", r.Tokens))
	}
	for o := range outcomes {
		if n := r.Count(Outcome(o)); n > 0 {
			attrs = append(attrs, slog.Int(outcomes[o], n))
		}
	}
	return slog.GroupValue(attrs...)
}
