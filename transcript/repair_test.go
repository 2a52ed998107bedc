package transcript_test

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/untrusted-context/envelope/transcript"
)

// requireAgreement holds Inspect, Recover and Repair, and readers that give little at a time, against
// Records.
func requireAgreement(tb testing.TB, log string, o transcript.Options) transcript.Inspection {
	var want transcript.Inspection
	var records []transcript.Record
	for r, err := range transcript.Records(strings.NewReader(log), o) {
		if err == nil {
			want.Records++
			records = append(records, r)
		} else {
			want.Faults = append(want.Faults, err.(*transcript.Fault))
		}
	}
	var repaired strings.Builder
	faults, last := 0, transcript.Record{}
	for r, err := range transcript.Recover(strings.NewReader(log), o) {
		if err != nil {
			require.Equal(tb, want.Faults[faults], err)
			faults++
			continue
		}
		repaired.Write(append(r.JSON, '\n'))
		require.Equal(tb, string(r.JSON), log[r.Offset:int(r.Offset)+len(r.JSON)])
		require.LessOrEqual(tb, last.Offset+int64(len(last.JSON)), r.Offset, "none overlaps another")
		if last = r; faults > 0 && want.Faults[faults-1].Line == r.Line {
			want.Recovered++
			continue
		}
		require.Equal(tb, records[0], r)
		records = records[1:]
	}
	require.Len(tb, want.Faults, faults)
	require.Empty(tb, records)
	for _, r := range []io.Reader{
		strings.NewReader(log),
		iotest.DataErrReader(strings.NewReader(log)),
		iotest.HalfReader(strings.NewReader(log)),
	} {
		in, err := transcript.Inspect(r, o)
		require.NoError(tb, err)
		require.Equal(tb, want, in)
	}
	var out bytes.Buffer
	in, err := transcript.Repair(&out, iotest.OneByteReader(strings.NewReader(log)), o)
	require.Equal(tb, want, in)
	require.Equal(tb, repaired.String(), out.String())
	if log != "" && out.Len() == 0 {
		require.ErrorIs(tb, err, transcript.ErrNothing)
		return want
	}
	require.NoError(tb, err)
	again, err := transcript.Inspect(&out, o)
	require.NoError(tb, err)
	whole := transcript.Inspection{Records: want.Records + want.Recovered}
	require.Equal(tb, whole, again, "a repaired log has no fault")
	return want
}
