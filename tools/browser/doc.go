// Package browser tests the pages of the command envelope view in a real browser. It is a module of
// its own, so that nothing else depends on what drives the browser. Without Chromium its tests are
// skipped with a word.
package browser
