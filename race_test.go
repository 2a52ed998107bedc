//go:build race

package envelope_test

func init() { raced = true }
