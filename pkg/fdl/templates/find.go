package templates

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/waitless/waitless/pkg/flow"
)

// Flow is a flow that a template defines. The zero value is a flow in a file of its own.
type Flow struct {
	// Name is the name of the flow, or of its resource if it has none that is known.
	Name string
	// ID is the name of the resource.
	ID string
	// Kind is the template's type of the flow, like ALIYUN::FNF::Flow.
	Kind string
	// File is the path of the definition, as seen from the template. It is empty if the template
	// has the definition itself.
	File string

	template                  *template
	definition, substitutions *yaml.Node
}

// template is a template of ROS or Funcraft, or a project of Serverless Devs.
type template struct {
	text string
	root *yaml.Node
	// values has the values of parameters, of variables and of attributes of resources, by the
	// names in placeholders.
	values map[string]string
	// names are the names of parameters and variables, and the names that the template refers to.
	names []string
	// functions are the functions that the template defines: service/function.
	functions []string
	// isProject reports a project of Serverless Devs.
	isProject bool
}

// flowTypes are the types of resources that are flows.
var flowTypes = []string{"ALIYUN::FNF::Flow", "Aliyun::Serverless::Flow", "AWS::Serverless::StateMachine", "AWS::StepFunctions::StateMachine"}

// isOfAWS reports whether a type of a resource is one of CloudFormation.
func isOfAWS(kind string) bool { return strings.HasPrefix(kind, "AWS::") }

// flowComponent is the component of Serverless Devs that deploys flows.
const flowComponent = "fnf"

// Find returns the flows that a template defines. It returns none for an unreadable text and for
// the definition of a flow.
func Find(text []byte, vars map[string]string) (flows []Flow) {
	t := &template{text: strings.TrimPrefix(string(text), "\uFEFF"), values: map[string]string{}}
	nodes, readable := load(t.text)
	if !readable || len(nodes) < 2 || child(nodes[1], "steps") != nil {
		return nil
	}
	t.root = nodes[1]
	t.isProject = child(t.root, "Resources") == nil
	t.readValues(vars)
	var visit func(*yaml.Node)
	visit = func(node *yaml.Node) {
		for name, resource := range entries(node) {
			if resource.Kind != yaml.MappingNode {
				continue
			}
			if def, ok := t.flowOf(name, resource, vars); ok {
				flows = append(flows, def)
			}
			visit(resource)
		}
	}
	visit(t.root)
	return flows
}

// flowOf returns the flow that a resource is.
func (t *template) flowOf(name string, resource *yaml.Node, vars map[string]string) (def Flow, ok bool) {
	kind := t.textOf(child(resource, "Type"))
	if !slices.Contains(flowTypes, kind) {
		component := t.textOf(first(resource, "component", "Component"))
		isInFolder := strings.HasPrefix(component, "${") || strings.HasPrefix(component, ".") // its name is not known
		if component != flowComponent && !strings.HasSuffix(component, "/"+flowComponent) && (!isInFolder || !t.isProject) {
			return def, false
		}
		kind = "component " + component
	}
	properties := first(resource, "Properties", "props")
	def = Flow{Name: name, ID: name, Kind: kind, template: t, definition: first(properties, "Definition", "definition")}
	if isOfAWS(kind) {
		def.definition = cmp.Or(def.definition, child(properties, "DefinitionString"),
			child(properties, "DefinitionS3Location"), child(properties, "DefinitionUri"))
		def.substitutions = child(properties, "DefinitionSubstitutions")
	}
	switch file := child(properties, "DefinitionUri"); {
	case file != nil && t.textOf(file) != "":
		def.File = t.textOf(file)
	case def.definition == nil:
		return def, false
	case t.isProject && def.definition.Kind == yaml.ScalarNode:
		def.File = t.textOf(def.definition)
	}
	if own := t.textOf(cmp.Or(first(properties, "Name", "name"), child(properties, "StateMachineName"))); flow.ValidName(own) {
		def.Name = own
	}
	if _, isGiven := vars[name+".Name"]; !isGiven {
		t.values[name+".Name"] = def.Name
	}
	return def, true
}

// readValues reads the values of the template's placeholders. The values of vars take precedence.
func (t *template) readValues(vars map[string]string) {
	for name, parameter := range entries(child(t.root, "Parameters")) {
		t.names = append(t.names, name)
		if standard := child(parameter, "Default"); standard != nil {
			t.values[name] = standard.Value
		}
	}
	// An ARN of a function needs neither region nor account.
	t.values["AWS::Partition"], t.values["AWS::Region"], t.values["AWS::AccountId"] = "aws", "", ""
	t.readVars("vars", child(t.root, "vars"))
	maps.Copy(t.values, vars)
	for name, resource := range entries(child(t.root, "Resources")) {
		t.readFunctions(name, resource)
	}
	maps.Copy(t.values, vars)
}

// readVars reads the variables of Serverless Devs: ${vars.NAME}.
func (t *template) readVars(path string, node *yaml.Node) {
	for name, value := range entries(node) {
		if value.Kind == yaml.ScalarNode {
			t.values[path+"."+name] = value.Value
			t.names = append(t.names, path+"."+name)
		}
		t.readVars(path+"."+name, value)
	}
}

// readFunctions reads the attributes of a service of Funcraft with its functions, or of a function
// of ROS.
func (t *template) readFunctions(name string, resource *yaml.Node) {
	properties := child(resource, "Properties")
	switch kind := t.textOf(child(resource, "Type")); kind {
	case "Aliyun::Serverless::Service":
		t.values[name+".ARN"], t.values[name+".ServiceName"] = "acs:fc:::services/"+name, name
		for function, value := range entries(resource) {
			if t.textOf(child(value, "Type")) == "Aliyun::Serverless::Function" {
				t.addFunction(name+function, name, function)
			}
		}
	case "ALIYUN::FC::Service":
		if service := t.textOf(child(properties, "ServiceName")); service != "" {
			t.values[name+".ServiceName"] = service
		}
	case "ALIYUN::FC::Function":
		service := t.textOf(child(properties, "ServiceName"))
		if function := t.textOf(child(properties, "FunctionName")); service != "" && function != "" {
			t.addFunction(name, service, function)
		}
	case "AWS::Serverless::Function", "AWS::Lambda::Function": // a machine names a function so
		t.values[name], t.values[name+".Arn"] = "${"+name+"}", "${"+name+".Arn}"
	default:
		if isOfAWS(kind) {
			t.values[name] = name
		}
	}
}

func (t *template) addFunction(resource, service, function string) {
	t.functions = append(t.functions, service+"/"+function)
	t.values[resource+".ARN"] = arnOf(service, function)
	t.values[resource+".ServiceName"], t.values[resource+".FunctionName"] = service, function
}

func arnOf(service, function string) string {
	return "acs:fc:::services/" + service + "/functions/" + function
}

// textOf returns the text that a node stands for, "" if it is not known.
func (t *template) textOf(node *yaml.Node) string {
	text, inner, kind := call(node)
	switch kind {
	case "":
		if t.isProject {
			return t.filled(text, t.values)
		}
		return text
	case "Ref", "Fn::GetAtt":
		name := strings.ReplaceAll(text, "/", "")
		t.names = append(t.names, name)
		return t.values[name]
	case "Fn::Sub":
		return t.filled(text, t.of(inner), t.values)
	case "Fn::Join":
		text, _ = joined(node)
		return t.filled(text, t.values)
	case "Fn::Replace":
		pattern, values := t.replaced(inner)
		return pattern.ReplaceAllStringFunc(text, func(found string) string { return values[found] })
	}
	return ""
}

// joined returns the text of Fn::Join, or of a part of it, with placeholders for values of the
// template. It reports false if a part is not known.
func joined(node *yaml.Node) (text string, ok bool) {
	text, mapping, function := call(node)
	switch function {
	case "":
		return text, node.Kind == yaml.ScalarNode
	case "Ref", "Fn::GetAtt", "Fn::ImportValue":
		return "${" + strings.ReplaceAll(text, "/", "") + "}", true
	case "Fn::Sub":
		return text, mapping == nil
	case "Fn::Join":
		if !isCall(node) {
			node = node.Content[1]
		}
		if len(node.Content) != 2 { //nolint:mnd // the text between the parts, and the parts
			return "", false
		}
		var parts []string
		for _, part := range node.Content[1].Content {
			if text, ok = joined(part); !ok {
				return "", false
			}
			parts = append(parts, text)
		}
		return strings.Join(parts, node.Content[0].Value), true
	}
	return "", false
}

// filled returns a text with values, "" if one of them is not known. The first map that has a value
// counts.
func (t *template) filled(text string, values ...map[string]string) string {
	allKnown := true
	text = placeholder().ReplaceAllStringFunc(text, func(found string) string {
		value, known := valueOf(found, values...)
		if name, isName := nameIn(found); isName {
			t.names = append(t.names, name)
		}
		allKnown = allKnown && known
		return value
	})
	if !allKnown {
		return ""
	}
	return text
}

// of returns the values of a mapping of Fn::Sub.
func (t *template) of(mapping *yaml.Node) map[string]string {
	values := map[string]string{}
	for name, node := range entries(mapping) {
		if text := t.textOf(node); text != "" || node.Kind == yaml.ScalarNode {
			values[name] = text
		}
	}
	return values
}

// call returns the function of a template that a node calls, its text, and the mapping that some
// functions have. Of a node that calls none it returns its text.
func call(node *yaml.Node) (text string, mapping *yaml.Node, function string) {
	switch {
	case node == nil || node.Kind == yaml.AliasNode:
		return "", nil, ""
	case isCall(node):
		return argumentsOf(node, strings.Replace("Fn::"+strings.TrimPrefix(node.Tag, "!"), "Fn::Ref", "Ref", 1))
	case node.Kind == yaml.MappingNode && len(node.Content) == 2:
		return argumentsOf(node.Content[1], node.Content[0].Value)
	}
	return node.Value, nil, ""
}

// isCall reports a function in its short form: a tag like !Sub.
func isCall(node *yaml.Node) bool {
	return node.Style&yaml.TaggedStyle != 0 && !strings.HasPrefix(node.ShortTag(), "!!")
}

// argumentsOf returns the arguments of a function in the forms that it may have: a text, or a list
// of a text and a mapping in either order, or a list of the names of a resource and an attribute.
func argumentsOf(node *yaml.Node, function string) (string, *yaml.Node, string) {
	var texts []string
	var mapping *yaml.Node
	for _, item := range append([]*yaml.Node{node}, node.Content...) {
		switch item.Kind { //nolint:exhaustive // others are no arguments
		case yaml.ScalarNode:
			texts = append(texts, item.Value)
		case yaml.MappingNode:
			mapping = item
		}
	}
	return strings.Join(texts, "."), mapping, function
}

// entries visits the entries of a mapping, nothing for another node. It does not follow aliases, so
// that a walk ends.
func entries(node *yaml.Node) func(yield func(string, *yaml.Node) bool) {
	return func(yield func(string, *yaml.Node) bool) {
		if node == nil || node.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(node.Content); i += 2 {
			if !yield(node.Content[i].Value, node.Content[i+1]) {
				return
			}
		}
	}
}

// child returns the value of a key. For an alias, it returns the node that the alias refers to.
func child(node *yaml.Node, key string) *yaml.Node {
	for name, value := range entries(node) {
		if name == key {
			return cmp.Or(value.Alias, value)
		}
	}
	return nil
}

// first returns the child with one of two keys.
func first(node *yaml.Node, key, other string) *yaml.Node {
	return cmp.Or(child(node, key), child(node, other))
}
