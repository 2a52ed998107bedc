package main

import (
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestVersionDescribe(t *testing.T) {
	module := func(path, version string) debug.Module {
		return debug.Module{Path: path, Version: version}
	}
	replaced := module(modulePath, "v1.2.3")
	replaced.Replace = &debug.Module{Path: "../x"}
	other := module("example.com/x", "v8.0.0")
	settings := func(modified string) []debug.BuildSetting {
		return []debug.BuildSetting{
			{Key: "vcs", Value: "git"},
			{Key: "vcs.revision", Value: "0123abc"},
			{Key: "vcs.modified", Value: modified},
		}
	}
	own := module(modulePath, "v1.2.3")
	tests := []struct {
		why                   string
		info                  debug.BuildInfo
		module, goV, revision string
	}{
		{"a release",
			debug.BuildInfo{GoVersion: "go1.99", Main: own, Settings: settings("false")},
			"v1.2.3", "go1.99", "0123abc"},
		{"changed files",
			debug.BuildInfo{GoVersion: "go1.99", Main: own, Settings: settings("true")},
			"v1.2.3", "go1.99", "0123abc (modified)"},
		{"without version control",
			debug.BuildInfo{GoVersion: "go1.99", Main: module(modulePath, "(devel)")},
			"(devel)", "go1.99", "unknown"},
		{"nothing known", debug.BuildInfo{}, "unknown", runtime.Version(), "unknown"},
		{"built from another module, whose revision says nothing about this one",
			debug.BuildInfo{GoVersion: "go1.99", Main: module("example.com/m", "v9.0.0"),
				Deps: []*debug.Module{&other, &own}, Settings: settings("false")},
			"v1.2.3", "go1.99", "unknown"},
		{"replaced there", debug.BuildInfo{GoVersion: "go1.99", Main: module("example.com/m", ""),
			Deps: []*debug.Module{&replaced}},
			"v1.2.3 (replaced)", "go1.99", "unknown"},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			want := "module   " + modulePath + " " + tt.module + "\n" +
				"go       " + tt.goV + " " + runtime.GOOS + "/" + runtime.GOARCH + "\n" +
				"revision " + tt.revision + "\n"
			assert.Equal(t, want, describe(&tt.info))
		})
	}
}

func TestVersionStatus(t *testing.T) {
	runStatus(t, []statusTest{
		{"a command", "version", "", done, "go       " + runtime.Version(), ""},
		{"a flag, as other programs have it", "--version", "", done, "revision ", ""},
		{"a flag with one hyphen", "-version", "", done, "module   " + modulePath, ""},
		{"its help", "version -h", "", done, "usage: envelope version\n", ""},
		{"an operand", "version x", "", failed, "", "no FILE"},
		{"a flag of its own", "version -x", "", failed, "", "not defined: -x"},
	})
	_, out, _ := call("", "version")
	assert.Equal(t, 3, strings.Count(out, "\n"))
}
