module github.com/untrusted-context/envelope/examples/tokens

go 1.26.0

replace github.com/untrusted-context/envelope => ../../

require (
	github.com/tiktoken-go/tokenizer v0.10.0
	github.com/untrusted-context/envelope v0.0.0-00010101000000-000000000000
)

require github.com/dlclark/regexp2/v2 v2.5.1 // indirect
