package envelope_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope"
)

func TestWrapperValidation(t *testing.T) {
	ok := envelope.Wrapper{
		Notice: "Data follows.", Begin: "<untrusted-context>", End: "</untrusted-context>",
	}
	with := func(change func(*envelope.Wrapper)) envelope.Wrapper {
		w := ok
		change(&w)
		return w
	}
	begin := func(text string) envelope.Wrapper {
		return with(func(w *envelope.Wrapper) { w.Begin = text })
	}
	notice := func(text string) envelope.Wrapper {
		return with(func(w *envelope.Wrapper) { w.Notice = text })
	}
	tests := []struct {
		why     string
		wrapper envelope.Wrapper
		field   string // "" is valid
		offset  int
	}{
		{"tags", ok, "", 0},
		{"a notice of several lines, one of them empty", notice("a\n\nb é 中\n"), "", 0},
		{"eight characters", begin("BEGIN_IT"), "", 0},
		{"spaces inside", begin("-- begin of it --"), "", 0},
		{"the last of printable ASCII", begin("BEGIN_~~"), "", 0},
		{"a notice of what neighbours control characters", notice("a~\u00a0b"), "", 0},
		{"markers that overlap", with(func(w *envelope.Wrapper) { w.Begin, w.End = "-ABCDEFGHI", "ABCDEFGHI_END" }), "", 0},
		{"seven characters", begin("BEGIN_I"), "wrapper.Begin", 7},
		{"none", begin(""), "wrapper.Begin", 0},
		{"two lines", begin("BEGIN\nBEGIN"), "wrapper.Begin", 5},
		{"a tab", begin("BEGIN\tBEGIN"), "wrapper.Begin", 5},
		{"a control character", begin("BEGIN\x1fBEGIN"), "wrapper.Begin", 5},
		{"a DEL", begin("BEGIN_BEGIN\x7f"), "wrapper.Begin", 11},
		{"not ASCII", begin("BEGIN_é_BEGIN"), "wrapper.Begin", 6},
		{"a quote", begin(`BEGIN "it"`), "wrapper.Begin", 6},
		{"a backslash", begin(`BEGIN\it__`), "wrapper.Begin", 5},
		{"nothing that can be escaped", begin("deadbeef/nrtu"), "wrapper.Begin", 13},
		{"nothing but JSON's structure", begin("},{:[false],{"), "wrapper.Begin", 13},
		{"a number of JSON", begin("-1.5E+10"), "wrapper.Begin", 8},
		{"blank", begin("          "), "wrapper.Begin", 0},
		{"a space before", begin(" BEGIN_IT"), "wrapper.Begin", 0},
		{"a space behind", begin("BEGIN_IT "), "wrapper.Begin", 8},
		{"equal", begin(ok.End), "wrapper.End", -1},
		{"one inside the other", with(func(w *envelope.Wrapper) { w.Begin, w.End = "MARKER_BEGIN", "THE_MARKER_BEGIN_END" }), "wrapper.End", -1},
		{"the other inside the one", with(func(w *envelope.Wrapper) { w.Begin, w.End = "THE_MARKER_BEGIN_END", "MARKER_BEGIN" }), "wrapper.End", -1},
		{"breaking one would write the other", with(func(w *envelope.Wrapper) { w.Begin, w.End = "u004eD_POWERX", "ND_POWERX__" }), "wrapper.End", -1},
		{"and the other way round", with(func(w *envelope.Wrapper) { w.Begin, w.End = "ND_POWERX__", "u004eD_POWERX" }), "wrapper.End", -1},
		{"breaking BEGIN would write BEGIN", begin("58XXXXXXXX"), "wrapper.End", -1},
		{"breaking END would write END", with(func(w *envelope.Wrapper) { w.End = "58XXXXXXXX" }), "wrapper.End", -1},
		{"breaking one would write the start of itself", begin("d-eeeeeeed-e"), "", 0},
		{"a marker in the notice", notice("between " + ok.End + " and"), "wrapper.Notice", 8},
		{"a marker at the beginning of the notice", notice(ok.Begin + " follows"), "wrapper.Notice", 0},
		{"no notice", notice(""), "wrapper.Notice", -1},
		{"a blank notice", notice("\n \u3000\n"), "wrapper.Notice", -1},
		{"a tab in the notice", notice("a\tb"), "wrapper.Notice", 1},
		{"a US in the notice", notice("a\x1fb"), "wrapper.Notice", 1},
		{"a DEL in the notice", notice("a\x7fb"), "wrapper.Notice", 1},
		{"the first of C1 in the notice", notice("a\u0080b"), "wrapper.Notice", 1},
		{"the last of C1 in the notice", notice("a\u009fb"), "wrapper.Notice", 1},
		{"a CR in the notice", notice("a\r\nb"), "wrapper.Notice", 1},
		{"NEXT LINE in the notice", notice("a\u0085b"), "wrapper.Notice", 1},
		{"LINE SEPARATOR in the notice", notice("é\u2028b"), "wrapper.Notice", 2},
		{"PARAGRAPH SEPARATOR in the notice", notice("\u2029b"), "wrapper.Notice", 0},
		{"invalid UTF-8 before the notice", notice("\xffa"), "wrapper.Notice", 0},
		{"invalid UTF-8 in the notice", notice("a\xff"), "wrapper.Notice", 1},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			w := tt.wrapper
			hostile := strings.Join([]string{"", w.Begin, w.End, w.Begin, "x\n"}, w.End)
			items := []envelope.Item{memory("e", hostile)}
			j := envelope.JSON{Wrapper: tt.wrapper}
			p, err := j.Render(items, envelope.Budget{})
			if tt.field == "" {
				require.NoError(t, err)
				requireIntact(t, p.Content, tt.wrapper)
				requireDelivered(t, j, p.Content, items, p.Report)
				return
			}
			var e *envelope.Error
			require.ErrorAs(t, err, &e)
			assert.ErrorIs(t, err, envelope.ErrWrapper)
			assert.Equal(t, tt.field, e.Field)
			assert.Equal(t, tt.offset, e.Offset)
			if tt.wrapper.Begin != "" {
				assert.NotContains(t, e.Error(), tt.wrapper.Begin)
			}
		})
	}
}

// A zero JSON or Markdown does not change when a program changes the package's variables.
func TestZeroWrapperIsFixed(t *testing.T) {
	defer func(w envelope.Wrapper) { envelope.PowerContextV1 = w }(envelope.PowerContextV1)
	envelope.PowerContextV1.End = "SOMETHING_ELSE"
	p, err := envelope.JSON{}.Render([]envelope.Item{memory("e", "x")}, envelope.Budget{})
	require.NoError(t, err)
	assert.True(t, strings.HasSuffix(p.Content, "\n"+end))
}

func TestNewWrapper(t *testing.T) {
	want := envelope.Wrapper{Notice: "Data follows.", Begin: "BEGIN_NOTES_V1", End: "END_NOTES_V1"}
	assert.Equal(t, want, envelope.NewWrapper("NOTES_V1", "Data follows."))
	tests := []struct{ why, name, notice, field string }{
		{"as documented", "NOTES_V1", "Data follows.", ""},
		{"the shortest name", "ABXY", "Data follows.", ""},
		{"no name", "", "Data follows.", "wrapper.Begin"},
		{"a name that makes END too short", "abc", "Data follows.", "wrapper.End"},
		{"a line feed in the name", "NOTES\nV1", "Data follows.", "wrapper.Begin"},
		{"no notice", "NOTES_V1", "", "wrapper.Notice"},
		{"a notice with the marker", "NOTES_V1", "up to END_NOTES_V1", "wrapper.Notice"},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			for _, r := range []interface {
				Render([]envelope.Item, envelope.Budget) (envelope.Prepared, error)
			}{
				envelope.JSON{Wrapper: envelope.NewWrapper(tt.name, tt.notice)},
				envelope.Markdown{Wrapper: envelope.NewWrapper(tt.name, tt.notice)},
			} {
				_, err := r.Render([]envelope.Item{memory("e", "x")}, envelope.Budget{})
				if tt.field == "" {
					assert.NoError(t, err)
					continue
				}
				var e *envelope.Error
				require.ErrorAs(t, err, &e)
				assert.Equal(t, tt.field, e.Field)
			}
		})
	}
}

// The error for a wrapper that is set in part says that all three fields are needed.
func TestWrapperInPart(t *testing.T) {
	whole := envelope.NewWrapper("NOTES_V1", "Data follows.")
	tests := []struct {
		why     string
		wrapper envelope.Wrapper
		field   string
	}{
		{"no notice", envelope.Wrapper{Begin: whole.Begin, End: whole.End}, "wrapper.Notice"},
		{"no begin", envelope.Wrapper{Notice: whole.Notice, End: whole.End}, "wrapper.Begin"},
		{"no end", envelope.Wrapper{Notice: whole.Notice, Begin: whole.Begin}, "wrapper.End"},
		{"the notice alone", envelope.Wrapper{Notice: whole.Notice}, "wrapper.Begin"},
		{"begin alone", envelope.Wrapper{Begin: whole.Begin}, "wrapper.End"},
		{"end alone", envelope.Wrapper{End: whole.End}, "wrapper.Begin"},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			_, err := envelope.JSON{Wrapper: tt.wrapper}.Render(nil, envelope.Budget{})
			var e *envelope.Error
			require.ErrorAs(t, err, &e)
			assert.ErrorIs(t, err, envelope.ErrWrapper)
			assert.Equal(t, tt.field, e.Field)
			assert.Contains(t, err.Error(), "the fields Notice, Begin and End are all needed")
		})
	}
}
