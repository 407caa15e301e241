// This module has programs for those who work on Waitless. It is not part of the product.
module github.com/waitless/waitless/pkg/tools

go 1.26.0

toolchain go1.26.8
