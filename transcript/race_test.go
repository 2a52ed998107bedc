//go:build race

package transcript_test

func init() { slow = true }
