package machinetest

import (
	"crypto/md5" //nolint:gosec // States.Hash has it
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/waitless/waitless/pkg/machine"
	"github.com/waitless/waitless/pkg/value"
)

// Masked returns a value in which each error that the language names has an unknown cause.
func Masked(v value.Value) value.Value { return toJSON(masked(fromJSON(v))) }

func masked(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = masked(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = masked(v[key])
		}
		if strings.HasPrefix(text(v["Error"]), "States.") && v["Cause"] != nil {
			v["Cause"] = unknownCause
		}
	}
	return v
}

func (s scope) with(data any) scope {
	s.data = data
	return s
}

// at returns the value that a field with a path selects. Without the field that is v.
func (n *NaiveMachine) at(state map[string]any, field string, s scope, v any) (any, *failure) {
	switch path, ok := state[field]; {
	case !ok:
		return v, nil
	case path == nil:
		return map[string]any{}, nil
	default:
		return n.path(text(path), s.with(v))
	}
}

// placed puts a result into the data of a state.
func placed(fields map[string]any, field string, data, result any) (any, *failure) {
	path, ok := fields[field]
	switch {
	case !ok:
		return result, nil
	case path == nil:
		return data, nil
	case path == "$":
		return result, nil
	}
	keys := strings.Split(strings.TrimPrefix(strings.ReplaceAll(text(path), "[", ".["), "$."), ".")
	return put(data, keys, result)
}

func put(in any, keys []string, result any) (any, *failure) {
	if list, ok := in.([]any); ok && strings.HasPrefix(keys[0], "[") {
		i, err := strconv.Atoi(strings.Trim(keys[0], "[]"))
		if err != nil || i >= len(list) {
			return nil, &failure{"States.ResultPathMatchFailure", unknownCause}
		}
		list = slices.Clone(list)
		var f *failure
		if list[i] = result; len(keys) > 1 {
			list[i], f = put(in.([]any)[i], keys[1:], result)
		}
		return list, f
	}
	object, ok := in.(map[string]any)
	if !ok || strings.HasPrefix(keys[0], "[") {
		return nil, &failure{"States.ResultPathMatchFailure", unknownCause}
	}
	object = maps.Clone(object)
	if len(keys) == 1 {
		object[keys[0]] = result
		return object, nil
	}
	inner := object[keys[0]]
	if inner == nil {
		inner = map[string]any{}
	}
	inner, f := put(inner, keys[1:], result)
	object[keys[0]] = inner
	return object, f
}

// template computes each member of a value with a name that ends with ".$".
func (n *NaiveMachine) template(t any, s scope) (any, *failure) {
	switch t := t.(type) {
	case map[string]any:
		out := map[string]any{}
		for _, key := range slices.Sorted(maps.Keys(t)) {
			var f *failure
			if name, isComputed := strings.CutSuffix(key, ".$"); isComputed {
				out[name], f = n.expression(text(t[key]), s)
			} else {
				out[key], f = n.template(t[key], s)
			}
			if f != nil {
				return nil, f
			}
		}
		return out, nil
	case []any:
		out := make([]any, len(t))
		for i := range t {
			var f *failure
			if out[i], f = n.template(t[i], s); f != nil {
				return nil, f
			}
		}
		return out, nil
	}
	return t, nil
}

func (n *NaiveMachine) expression(text string, s scope) (any, *failure) {
	if strings.HasPrefix(text, "States.") {
		v, rest, f := n.call(text, s)
		if f == nil && rest != "" {
			panic("behind a call: " + rest)
		}
		return v, f
	}
	return n.path(text, s)
}

// path evaluates a path.
func (n *NaiveMachine) path(path string, s scope) (any, *failure) {
	missing := &failure{errorRuntime, unknownCause}
	end := strings.IndexAny(path, ".[")
	if end < 0 {
		end = len(path)
	}
	selected, rest, indefinite := []any{s.data}, path[end:], false
	switch name := path[1:end]; name {
	case "":
	case "$":
		selected[0] = n.context(s)
	default:
		v, ok := s.vars[name]
		if !ok {
			return nil, missing
		}
		selected[0] = v
	}
	for rest != "" {
		var segment string
		segment, rest = cutSegment(rest)
		var next []any
		for _, v := range selected {
			next = append(next, choose(segment, v)...)
		}
		indefinite = indefinite || strings.Contains(segment, "..") || strings.ContainsAny(segment, "*:?")
		if selected = next; len(next) == 0 && !indefinite {
			if strings.ContainsAny(rest, "*:?") || strings.Contains(rest, "..") {
				indefinite = true // the whole path is
				continue
			}
			return nil, missing
		}
	}
	if indefinite {
		return append([]any{}, selected...), nil
	}
	return selected[0], nil
}

// cutSegment splits a path behind its first segment.
func cutSegment(path string) (segment, rest string) {
	if strings.HasPrefix(path, "[") {
		end := strings.Index(path, "]") + 1
		return path[:end], path[end:]
	}
	start := len(path) - len(strings.TrimLeft(path, "."))
	end := strings.IndexAny(path[start:], ".[")
	if end < 0 {
		return path, ""
	}
	return path[:start+end], path[start+end:]
}

// choose returns the values that a segment selects.
func choose(segment string, v any) []any {
	if key, deep := strings.CutPrefix(segment, ".."); deep {
		found := choose("."+key, v)
		for _, inner := range children(v) {
			found = append(found, choose(segment, inner)...)
		}
		return found
	}
	inside := strings.Trim(segment, ".[]'")
	if inside == "*" {
		return children(v)
	}
	if filter, ok := strings.CutPrefix(segment, "[?(@"); ok {
		return filtered(strings.TrimSuffix(filter, ")]"), v)
	}
	if object, ok := v.(map[string]any); ok {
		if member, ok := object[inside]; ok && (segment[0] == '.' || segment[1] == '\'') {
			return []any{member}
		}
		return nil
	}
	list, _ := v.([]any)
	if from, to, isSlice := strings.Cut(inside, ":"); isSlice {
		first, last := position(from, 0, len(list)), position(to, len(list), len(list))
		return list[min(first, last):last]
	}
	if i, err := strconv.Atoi(inside); err == nil && segment[0] == '[' {
		if i < 0 {
			i += len(list)
		}
		if i >= 0 && i < len(list) {
			return list[i : i+1]
		}
	}
	return nil
}

// filtered returns the elements that fit a filter like ".n >= 2".
func filtered(filter string, v any) (found []any) {
	parts := strings.Fields(filter)
	operator, operand := parts[len(parts)-2], parts[len(parts)-1]
	for _, candidate := range children(v) {
		tested := []any{candidate}
		if len(parts) > 2 { //nolint:mnd // a member
			tested = choose(parts[0], candidate)
		}
		limit, err := strconv.ParseFloat(operand, 64)
		if err != nil {
			panic(err)
		}
		for _, each := range tested {
			x, isNumber := each.(float64)
			if isNumber && (operator == ">" && x > limit || operator == ">=" && x >= limit || operator == "==" && x == limit) {
				found = append(found, candidate)
			}
		}
	}
	return found
}

func position(text string, otherwise, length int) int {
	i, err := strconv.Atoi(text)
	if err != nil {
		return otherwise
	}
	if i < 0 {
		i += length
	}
	return max(0, min(i, length))
}

// children returns the elements of a list, or the members of an object in the order of their keys.
func children(v any) (inner []any) {
	switch v := v.(type) {
	case []any:
		return v
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			inner = append(inner, v[key])
		}
	}
	return inner
}

// context returns the parts of the context object that random machines read.
func (n *NaiveMachine) context(s scope) any {
	state := map[string]any{"Name": s.state, "EnteredTime": s.since.UTC().Format(machine.TimeFormat)}
	if s.isTask {
		state["RetryCount"] = float64(s.retried)
	}
	object := map[string]any{"Execution": map[string]any{"Name": n.Name, "Input": n.input}, "State": state}
	if s.item != nil {
		object["Map"] = map[string]any{"Item": s.item}
	}
	return object
}

// call evaluates a call of an intrinsic function, and returns the text behind it.
func (n *NaiveMachine) call(call string, s scope) (v any, rest string, f *failure) {
	name, rest, _ := strings.Cut(strings.TrimPrefix(call, "States."), "(")
	var args []any
	for {
		rest = strings.TrimLeft(rest, " ,")
		if behind, ok := strings.CutPrefix(rest, ")"); ok {
			rest = behind
			break
		}
		var arg any
		var g *failure
		switch {
		case strings.HasPrefix(rest, "States."):
			arg, rest, g = n.call(rest, s)
		case rest[0] == '\'':
			var inside string
			inside, rest, _ = strings.Cut(rest[1:], "'")
			arg = inside
		default:
			end := strings.IndexAny(rest, ",)")
			if strings.HasPrefix(rest, "$") {
				arg, g = n.path(rest[:end], s)
			} else if err := json.Unmarshal([]byte(rest[:end]), &arg); err != nil {
				panic(err)
			}
			rest = rest[end:]
		}
		if g != nil {
			f = n.oneOf(f, g)
		}
		args = append(args, arg)
	}
	if f != nil {
		return nil, rest, f
	}
	if strings.Contains(fmt.Sprint(args...), unknownCause) {
		n.giveUp()
	}
	v, ok := intrinsic(name, args)
	if !ok {
		return nil, rest, &failure{"States.IntrinsicFailure", unknownCause}
	}
	return v, rest, nil
}

// intrinsic returns the result of a function, false if its arguments are not right.
func intrinsic(name string, args []any) (v any, ok bool) {
	switch name {
	case "Array":
		return append([]any{}, args...), true
	case "JsonToString":
		return toJSON(args[0]).JSON(), true
	case "Hash":
		sum := md5.Sum([]byte(formatted(args[0]))) //nolint:gosec // as asked for
		return hex.EncodeToString(sum[:]), true
	case "MathAdd":
		a, isNumber := args[0].(float64)
		b, isToo := args[1].(float64)
		return a + b, isNumber && isToo
	case "ArrayRange":
		return ranged(args)
	case "Format":
		template, isText := args[0].(string)
		for _, arg := range args[1:] {
			template = strings.Replace(template, "{}", formatted(arg), 1)
		}
		return template, isText
	case "JsonMerge":
		a, isObject := args[0].(map[string]any)
		b, isToo := args[1].(map[string]any)
		merged := maps.Clone(a)
		if isObject && isToo {
			maps.Copy(merged, b)
		}
		return merged, isObject && isToo
	}
	if list, isList := args[0].([]any); isList {
		return ofList(name, list, args)
	}
	if s, isText := args[0].(string); isText {
		return ofText(name, s, args)
	}
	return nil, false
}

func ofText(name, s string, args []any) (v any, ok bool) {
	switch name {
	case "Base64Encode":
		return base64.StdEncoding.EncodeToString([]byte(s)), true
	case "Base64Decode":
		decoded, err := base64.StdEncoding.DecodeString(s)
		return string(decoded), err == nil
	case "StringToJson":
		err := json.Unmarshal([]byte(s), &v)
		return v, err == nil
	case "StringSplit":
		parts := []any{}
		for part := range strings.SplitSeq(s, text(args[1])) {
			if part != "" {
				parts = append(parts, part)
			}
		}
		return parts, true
	}
	return nil, false
}

func ofList(name string, list, args []any) (v any, ok bool) {
	switch name {
	case "ArrayLength":
		return float64(len(list)), true
	case "ArrayContains":
		return slices.ContainsFunc(list, func(v any) bool { return reflect.DeepEqual(v, args[1]) }), true
	case "ArrayGetItem":
		i, isNumber := args[1].(float64)
		if !isNumber || i < 0 || int(i) >= len(list) {
			return nil, false
		}
		return list[int(i)], true
	case "ArrayPartition":
		size, isNumber := args[1].(float64)
		if !isNumber || size < 1 {
			return nil, false
		}
		parts := []any{}
		for i := 0; i < len(list); i += int(size) {
			parts = append(parts, list[i:min(i+int(size), len(list))])
		}
		return parts, true
	case "ArrayUnique":
		unique := []any{}
		for _, v := range list {
			if !slices.ContainsFunc(unique, func(w any) bool { return reflect.DeepEqual(v, w) }) {
				unique = append(unique, v)
			}
		}
		return unique, true
	}
	return nil, false
}

func ranged(args []any) (v any, ok bool) {
	var n [3]int
	for i, arg := range args {
		number, isNumber := arg.(float64)
		if !isNumber {
			return nil, false
		}
		n[i] = int(number)
	}
	list := []any{}
	for i := n[0]; i <= n[1]; i += n[2] {
		list = append(list, float64(i))
	}
	return list, true
}

func formatted(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return toJSON(v).JSON()
}

// holds reports whether a rule of a Choice holds.
func (n *NaiveMachine) holds(rule map[string]any, s scope) (bool, *failure) {
	if condition, ok := rule["Condition"]; ok {
		v, f := n.queried(condition, s)
		holds, isBool := v.(bool)
		if f == nil && !isBool {
			f = &failure{errorQuery, unknownCause}
		}
		return holds, f
	}
	for _, operator := range []string{"And", "Or"} {
		if rules, ok := rule[operator].([]any); ok {
			for _, each := range rules {
				inner, _ := each.(map[string]any)
				if holds, f := n.holds(inner, s); f != nil || holds != (operator == "And") {
					return holds, f
				}
			}
			return operator == "And", nil
		}
	}
	if inner, ok := rule["Not"].(map[string]any); ok {
		holds, f := n.holds(inner, s)
		return !holds, f
	}
	v, f := n.path(text(rule["Variable"]), s)
	if want, ok := rule["IsPresent"]; ok {
		return (f == nil) == want, nil
	}
	if f != nil {
		return false, f
	}
	for operator, operand := range rule {
		if operator == "Variable" || operator == "Next" || operator == "Assign" || operator == "Output" {
			continue
		}
		name, isPath := strings.CutSuffix(operator, "Path")
		if isPath {
			if operand, f = n.path(text(operand), s); f != nil {
				return false, f
			}
		}
		return compares(name, v, operand), nil
	}
	panic("a rule without an operator")
}

func compares(operator string, v, operand any) bool {
	if kind, ok := strings.CutPrefix(operator, "Is"); ok {
		isKind := map[string]bool{"Null": v == nil, "Numeric": isA[float64](v), "String": isA[string](v), "Boolean": isA[bool](v)}
		return isKind[kind] == operand
	}
	if number, ok := v.(float64); ok && isA[float64](operand) {
		other, _ := operand.(float64)
		switch operator {
		case "NumericEquals":
			return number == other
		case "NumericGreaterThan":
			return number > other
		case "NumericLessThanEquals":
			return number <= other
		}
	}
	if s, ok := v.(string); ok && isA[string](operand) {
		prefix, suffix, _ := strings.Cut(text(operand), "*")
		switch operator {
		case "StringEquals":
			return s == operand
		case "StringLessThan":
			return s < text(operand)
		case "StringMatches":
			return len(s) >= len(prefix)+len(suffix) && strings.HasPrefix(s, prefix) && strings.HasSuffix(s, suffix)
		}
	}
	return operator == "BooleanEquals" && isA[bool](v) && v == operand
}

func isA[T any](v any) bool {
	_, ok := v.(T)
	return ok
}

const errorQuery = "States.QueryEvaluationError"

func isQuery(state map[string]any) bool { return state["QueryLanguage"] == "JSONata" }

// queried computes the texts of a value that are expressions.
func (n *NaiveMachine) queried(t any, s scope) (any, *failure) {
	switch t := t.(type) {
	case map[string]any:
		out := map[string]any{}
		for _, key := range slices.Sorted(maps.Keys(t)) {
			v, f := n.queried(t[key], s)
			if f != nil {
				return nil, f
			}
			out[key] = v
		}
		return out, nil
	case []any:
		out := make([]any, len(t))
		for i := range t {
			var f *failure
			if out[i], f = n.queried(t[i], s); f != nil {
				return nil, f
			}
		}
		return out, nil
	case string:
		if inside, ok := strings.CutPrefix(t, "{%"); ok {
			v, ok := n.query(strings.TrimSpace(strings.TrimSuffix(inside, "%}")), s)
			if !ok {
				return nil, &failure{errorQuery, unknownCause}
			}
			return v, nil
		}
	}
	return t, nil
}

// query evaluates an expression of a random machine. It returns false for one without a value.
func (n *NaiveMachine) query(expression string, s scope) (any, bool) {
	if parts := strings.Split(expression, " "); len(parts) == 3 { //nolint:mnd // an operator between two operands
		a, hasA := n.query(parts[0], s)
		b, hasB := n.query(parts[2], s)
		return operate(parts[1], a, b, hasA, hasB)
	}
	if inside, ok := strings.CutPrefix(expression, "$exists("); ok {
		_, exists := n.query(strings.TrimSuffix(inside, ")"), s)
		return exists, true
	}
	if inside, ok := strings.CutPrefix(expression, "$count("); ok {
		v, exists := n.query(strings.TrimSuffix(inside, ")"), s)
		if list, isList := v.([]any); isList {
			return float64(len(list)), true
		}
		return map[bool]float64{true: 1}[exists], true
	}
	if whole, err := strconv.ParseFloat(expression, 64); err == nil {
		return whole, true
	}
	root, rest, _ := strings.Cut(strings.TrimPrefix(expression, "$"), ".")
	v, ok := s.vars[root]
	if root == "states" {
		v, ok = map[string]any{"input": s.data, "context": n.context(s)}, true
		states, _ := v.(map[string]any)
		if s.result != nil {
			states["result"] = s.result
		}
		if s.caught != nil {
			states["errorOutput"] = s.caught
		}
	}
	for key := range strings.SplitSeq(rest, ".") {
		if rest == "" || !ok {
			break
		}
		object, isObject := v.(map[string]any)
		if _, isList := v.([]any); isList {
			n.giveUp() // a path maps lists
		}
		v, ok = object[key]
		ok = ok && isObject
	}
	return v, ok
}

func operate(operator string, a, b any, hasA, hasB bool) (any, bool) {
	x, isNumber := a.(float64)
	y, isToo := b.(float64)
	switch operator {
	case "=":
		return hasA && hasB && reflect.DeepEqual(a, b), true
	case ">":
		s, isText := a.(string)
		t, isTextToo := b.(string)
		switch {
		case isNumber && isToo:
			return x > y, true
		case isText && isTextToo:
			return s > t, true
		}
		return nil, false // without a value or an error
	case "+":
		return x + y, isNumber && isToo && !math.IsInf(x+y, 0)
	case "&":
		var joined string
		for _, v := range []any{a, b} {
			if v != nil {
				joined += formatted(v)
			}
		}
		return joined, true
	}
	panic("operator " + operator)
}
