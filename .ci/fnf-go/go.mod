// The vendor's client of the API of 2019-03-15 for Go, in a module of its own: only tests use it.
module fnfgo

go 1.26.0

require github.com/aliyun/alibaba-cloud-sdk-go v1.63.107

require (
	github.com/jmespath/go-jmespath v0.4.0 // indirect
	github.com/json-iterator/go v1.1.12 // indirect
	github.com/modern-go/concurrent v0.0.0-20180306012644-bacd9c7ef1dd // indirect
	github.com/modern-go/reflect2 v1.0.2 // indirect
	github.com/opentracing/opentracing-go v1.2.1-0.20220228012449-10b1cf09e00b // indirect
	gopkg.in/ini.v1 v1.67.0 // indirect
)
