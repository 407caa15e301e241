package jsonata

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/waitless/waitless/pkg/value"
)

var (
	libraryOnce sync.Once
	functions   map[string]*function
)

// library returns the functions of the language. It is filled at the first compilation.
func library() map[string]*function {
	libraryOnce.Do(func() {
		functions = map[string]*function{}
		for _, part := range []map[string]function{scalarFunctions(), structureFunctions()} {
			for name, f := range part {
				f.name = name
				if f.arity == 0 {
					f.arity = len(f.sig.params)
				}
				functions[name] = &f
			}
		}
	})
	return functions
}

// Functions returns the names of the library's functions, sorted.
func Functions() []string { return slices.Sorted(maps.Keys(library())) }

func sig(text string) *signature { return parseSignature(0, text) }

func scalarFunctions() map[string]function {
	add := func(a, b float64) float64 { return a + b }
	return map[string]function{
		"sum":     {sig: sig("<a<n>:n>"), native: fold(add, func(sum float64, _ int) item { return sum })},
		"count":   {sig: sig("<a:n>"), native: libCount, always: true},
		"max":     {sig: sig("<a<n>:n>"), native: fold(math.Max, extremum)},
		"min":     {sig: sig("<a<n>:n>"), native: fold(math.Min, extremum)},
		"average": {sig: sig("<a<n>:n>"), native: fold(add, func(sum float64, n int) item { return extremum(sum/float64(n), n) })},

		"string":             {sig: sig("<x-b?:s>"), native: libString, arity: 1},
		"substring":          {sig: sig("<s-nn?:s>"), native: libSubstring},
		"substringBefore":    {sig: sig("<s-s:s>"), native: cutText(false)},
		"substringAfter":     {sig: sig("<s-s:s>"), native: cutText(true)},
		"lowercase":          {sig: sig("<s-:s>"), native: ofText(strings.ToLower)},
		"uppercase":          {sig: sig("<s-:s>"), native: ofText(strings.ToUpper)},
		"length":             {sig: sig("<s-:n>"), native: libLength},
		"trim":               {sig: sig("<s-:s>"), native: ofText(func(s string) string { return strings.Join(strings.Fields(s), " ") })},
		"pad":                {sig: sig("<s-ns?:s>"), native: libPad},
		"match":              {sig: sig("<s-f<s:o>n?:a<o>>"), native: libMatch},
		"contains":           {sig: sig("<s-(sf):b>"), native: libContains},
		"replace":            {sig: sig("<s-(sf)(sf)n?:s>"), native: libReplace},
		"split":              {sig: sig("<s-(sf)n?:a<s>>"), native: libSplit},
		"join":               {sig: sig("<a<s>s?:s>"), native: libJoin},
		"base64encode":       {sig: sig("<s-:s>"), native: libBase64Encode},
		"base64decode":       {sig: sig("<s-:s>"), native: libBase64Decode},
		"encodeUrlComponent": {sig: sig("<s-:s>"), native: encodeURL(urlMarks)},
		"encodeUrl":          {sig: sig("<s-:s>"), native: encodeURL(urlMarks + urlReserved)},
		"decodeUrlComponent": {sig: sig("<s-:s>"), native: decodeURL("decodeUrlComponent", "")},
		"decodeUrl":          {sig: sig("<s-:s>"), native: decodeURL("decodeUrl", urlReserved)},

		"formatNumber":  {sig: sig("<n-so?:s>"), native: libFormatNumber},
		"formatBase":    {sig: sig("<n-n?:s>"), native: libFormatBase},
		"formatInteger": {sig: sig("<n-s:s>"), native: libFormatInteger},
		"parseInteger":  {sig: sig("<s-s:n>"), native: libParseInteger},
		"number":        {sig: sig("<(nsb)-:n>"), native: libNumber},
		"floor":         {sig: sig("<n-:n>"), native: ofNumber(math.Floor)},
		"ceil":          {sig: sig("<n-:n>"), native: ofNumber(math.Ceil)},
		"abs":           {sig: sig("<n-:n>"), native: ofNumber(math.Abs)},
		"round":         {sig: sig("<n-n?:n>"), native: libRound},
		"sqrt":          {sig: sig("<n-:n>"), native: libSqrt},
		"power":         {sig: sig("<n-n:n>"), native: libPower},
		"random":        {sig: sig("<:n>"), native: libRandom, always: true},

		"boolean": {sig: sig("<x-:b>"), native: func(r *run, args []item) item { return value.Bool(r.truth(args[0])) }},
		"not":     {sig: sig("<x-:b>"), native: func(r *run, args []item) item { return value.Bool(!r.truth(args[0])) }},
		"exists":  {sig: sig("<x:b>"), native: func(_ *run, args []item) item { return value.Bool(args[0] != nil) }, always: true},
		"type":    {sig: sig("<x:s>"), native: func(_ *run, args []item) item { return kindName(args[0]) }},

		"now":        {sig: sig("<s?s?:s>"), native: libNow, always: true},
		"millis":     {sig: sig("<:n>"), native: libMillis, always: true},
		"fromMillis": {sig: sig("<n-s?s?:s>"), native: libFromMillis},
		"toMillis":   {sig: sig("<s-s?:n>"), native: libToMillis},
	}
}

func structureFunctions() map[string]function {
	return map[string]function{
		"map":    {sig: sig("<af>"), native: libEach},
		"filter": {sig: sig("<af>"), native: libFilter},
		"single": {sig: sig("<af?>"), native: libSingle},
		"reduce": {sig: sig("<afj?:j>"), native: libReduce},
		"sift":   {sig: sig("<o-f?:o>"), native: libSift},
		"each":   {sig: sig("<o-f:a>"), native: libEach},
		"sort":   {sig: sig("<af?:a>"), native: reordered(libSort)},

		"append":   {sig: sig("<xx:a>"), native: libAppend, always: true},
		"reverse":  {sig: sig("<a:a>"), native: reordered(func(_ *run, items, _ []item) []item { slices.Reverse(items); return items })},
		"shuffle":  {sig: sig("<a:a>"), native: reordered(libShuffle)},
		"distinct": {sig: sig("<x:x>"), native: libDistinct},
		"zip":      {sig: sig("<a+>"), native: libZip, always: true},

		"keys":   {sig: sig("<x-:a<s>>"), native: libKeys},
		"lookup": {sig: sig("<x-s:x>"), native: libLookup},
		"spread": {sig: sig("<x-:a<o>>"), native: libSpread},
		"merge":  {sig: sig("<a<o>:o>"), native: libMerge},
		"clone":  {sig: sig("<(oa)-:o>"), native: func(_ *run, args []item) item { return args[0] }},

		"error":  {sig: sig("<s?:x>"), native: libError, always: true},
		"assert": {sig: sig("<bs?:x>"), native: libAssert, always: true},
		"eval":   {sig: sig("<sx?:x>"), native: libEval},
	}
}

// ofText is a function from one text to another.
func ofText(f func(string) string) func(r *run, args []item) item {
	return func(r *run, args []item) item {
		s, _ := textOf(args[0])
		r.write(len(s))
		return f(s)
	}
}

func ofNumber(f func(float64) float64) func(r *run, args []item) item {
	return func(_ *run, args []item) item {
		x, _ := numberOf(args[0])
		return f(x)
	}
}

func libError(r *run, args []item) item {
	message, _ := textOf(args[0])
	r.fail("D3137", cmp.Or(message, "$error() function evaluated"))
	return nil
}

func libAssert(r *run, args []item) item {
	if r.truth(args[0]) {
		return nil
	}
	message, _ := textOf(args[1])
	r.fail("D3141", cmp.Or(message, "$assert() statement failed"))
	return nil
}

// libEval evaluates a text as an expression, with the variables of its call.
func libEval(r *run, args []item) item {
	text, _ := textOf(args[0])
	in, env, pos := r.in, r.env, r.pos
	r.spend(len(text))
	compiled, err := Compile(text)
	if err != nil {
		r.fail("D3120", err.Error())
	}
	if args[1] != nil {
		in = outer(args[1])
	}
	var x item
	err = func() (err error) {
		defer recovered(text, &err)
		x = r.eval(compiled.root, in, env)
		return nil
	}()
	r.pos = pos
	if failure, ok := err.(*Error); ok && failure.Code != "U1001" { //nolint:errorlint // is not wrapped
		r.fail("D3121", failure.Error())
	} else if ok {
		r.failWith(failure)
	}
	return x
}
