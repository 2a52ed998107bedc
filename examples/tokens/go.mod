module github.com/untrusted-context/envelope/examples/tokens

go 1.26.0

replace github.com/untrusted-context/envelope => ../../

require (
	github.com/stretchr/testify v1.12.1
	github.com/tiktoken-go/tokenizer v0.10.0
	github.com/untrusted-context/envelope v0.0.0-00010101000000-000000000000
)

require (
	github.com/dlclark/regexp2/v2 v2.5.1 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
)
