module github.com/waitless/waitless

go 1.26

require github.com/aws/aws-lambda-go v1.55.1

require go.yaml.in/yaml/v4 v4.0.0 // indirect
