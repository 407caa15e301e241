module github.com/waitless/waitless

go 1.26
