package main

import (
	"testing"
)

func TestOptionsStatus(t *testing.T) {
	runStatus(t, []statusTest{
		{"a negative budget", "render -max-bytes -2", one, failed, "", "budget.MaxBytes"},
		{"a budget that is no number", "render -max-bytes 1e3", one, failed, "", "invalid value"},
		{"an unknown class", "render -escape html", one, failed, "", "classes are controls"},
		{"an unknown format", "render -format html", one, failed, "",
			"formats are json, markdown"},
		{"a section twice", "render -format markdown -sections memory,memory", one, failed, "",
			"sections[1].Kind: illegal value: an earlier section"},
		{"a section with an odd limit", "render -format markdown -sections memory:x", one, failed,
			"", "positive number"},
		{"a section without a kind", "render -format markdown -sections :3", one, failed, "",
			"without a kind"},
		{"an unknown line", "render -format markdown -show date", one, failed, "",
			"lines are confidence, recall_rank"},
		{"markdown's flags without markdown", "render -invisible", one, failed, "",
			"for -format markdown"},
		{"JSON's line with markdown", "render -format markdown -bare", one, failed, "",
			"-bare, -omitted and -checksum are for -format json"},
		{"JSON's flags with markdown", "render -format markdown -escape markup", one, failed, "",
			"for -format json"},
		{"verify: an illegal option is no verdict", "verify -scope \xff", "x", failed, "",
			"scope: illegal value: invalid UTF-8"},
		{"verify: a bad bound", "verify -max-bytes -2", "x", failed, "", "budget"},
	})
}
