package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
)

const modulePath = "github.com/untrusted-context/envelope"

func version(args []string, s streams) (int, error) {
	f := flag.NewFlagSet("version", flag.ContinueOnError)
	file, err := parseUsage(f, "", args, s)
	if err != nil {
		return failed, err
	}
	if file != "-" {
		return failed, errors.New("it takes no FILE")
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	if _, err := io.WriteString(s.out, describe(info)); err != nil {
		return failed, err
	}
	return done, nil
}

// describe is what the build says about itself: three lines, each with "unknown" for what it does
// not say.
func describe(info *debug.BuildInfo) string {
	module, revision := "unknown", "unknown"
	if info.Main.Path == modulePath {
		module = orElse(info.Main.Version, module)
		modified := false
		for _, setting := range info.Settings {
			switch setting.Key {
			case "vcs.revision":
				revision = orElse(setting.Value, revision)
			case "vcs.modified":
				modified = setting.Value == "true"
			}
		}
		if modified {
			revision += " (modified)"
		}
	}
	// Built from another module, what the version control says is about that one.
	for _, dep := range info.Deps {
		if dep.Path == modulePath {
			module = orElse(dep.Version, module)
			if dep.Replace != nil {
				module += " (replaced)"
			}
		}
	}
	return fmt.Sprintf("module   %s %s\ngo       %s %s/%s\nrevision %s\n",
		modulePath, module,
		orElse(info.GoVersion, runtime.Version()), runtime.GOOS, runtime.GOARCH,
		revision)
}
