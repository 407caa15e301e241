package faults

import (
	"cmp"
	"errors"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/waitless/waitless/pkg/aws/call"
)

// Site is a function that sends requests of one operation to AWS, itself or by other functions of
// its package.
type Site struct {
	Entry     string // package, type and function: "dynamo.Waits.Close"
	Operation string // "DynamoDB.UpdateItem"
}

// Sites returns the sites of the packages that the patterns name, as `go list` takes them.
func Sites(patterns ...string) ([]Site, error) {
	const mode = packages.NeedName | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports
	loaded, err := packages.Load(&packages.Config{Mode: mode, Fset: token.NewFileSet()}, patterns...)
	if err != nil {
		return nil, err
	}
	var sites []Site
	for _, p := range loaded {
		for _, wrong := range p.Errors {
			err = errors.Join(err, wrong)
		}
		sites = append(sites, sitesOf(p)...)
	}
	slices.SortFunc(sites, func(a, b Site) int {
		return cmp.Or(strings.Compare(a.Entry, b.Entry), strings.Compare(a.Operation, b.Operation))
	})
	return slices.Compact(sites), err
}

// uses has the names in the body of a function: operations, and functions of its own package.
type uses struct {
	operations []string
	functions  []*types.Func
}

func sitesOf(p *packages.Package) (sites []Site) {
	all := map[*types.Func]uses{}
	named := map[*types.Func]bool{} // by another function that does not only compose
	for _, file := range p.Syntax {
		for _, declared := range file.Decls {
			if f, ok := declared.(*ast.FuncDecl); ok && f.Body != nil {
				self := p.TypesInfo.Defs[f.Name].(*types.Func) //nolint:forcetypeassert // a function
				all[self] = usesOf(p, f.Body)
				for _, other := range all[self].functions {
					named[other] = named[other] || other != self && !composes(self.Name())
				}
			}
		}
	}
	for f := range all {
		if (f.Exported() || !named[f]) && !composes(f.Name()) {
			for _, operation := range reached(all, f, map[*types.Func]bool{}) {
				sites = append(sites, Site{entryOf(p, f), operation})
			}
		}
	}
	return sites
}

// composes reports whether a function with the name only composes others and sends no request
// itself.
func composes(name string) bool { return name == "compose" || name == "composeWith" || name == "main" }

// usesOf also finds methods that are passed on as values.
func usesOf(p *packages.Package, body ast.Node) (found uses) {
	ast.Inspect(body, func(n ast.Node) bool {
		name, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		if operation := rowOf(p.TypesInfo.Uses[name]); operation != "" && p.TypesInfo.Uses[name].Pkg() != p.Types {
			found.operations = append(found.operations, operation)
		}
		if f, ok := p.TypesInfo.Uses[name].(*types.Func); ok {
			switch operation := operationOf(f); {
			case operation != "":
				found.operations = append(found.operations, operation)
			case f.Pkg() == p.Types:
				found.functions = append(found.functions, f.Origin())
			}
		}
		return true
	})
	return found
}

// reached returns the operations of a function and of the functions that it uses.
func reached(all map[*types.Func]uses, f *types.Func, seen map[*types.Func]bool) []string {
	if seen[f] {
		return nil
	}
	seen[f] = true
	operations := slices.Clone(all[f].operations)
	for _, other := range all[f].functions {
		operations = append(operations, reached(all, other, seen)...)
	}
	return operations
}

// entryOf names a function as a reader would.
func entryOf(p *packages.Package, f *types.Func) string {
	elements := strings.Split(p.PkgPath, "/")
	name := elements[len(elements)-1] + "."
	if receiver := f.Signature().Recv(); receiver != nil {
		of := receiver.Type()
		if pointer, ok := of.(*types.Pointer); ok {
			of = pointer.Elem()
		}
		if is, ok := of.(*types.Named); ok {
			name += is.Obj().Name() + "."
		}
	}
	return name + f.Name()
}

const clients = "github.com/aws/aws-sdk-go-v2/service/"

// operationOf returns the operation that a method requests, empty for other functions. It is known
// by its result, an *XOutput of a client's package, so methods of interfaces and of paginators
// count too. A request of net/http is one of its own.
func operationOf(f *types.Func) string {
	if f.FullName() == "(*net/http.Client).Do" {
		return "HTTP"
	}
	results := f.Signature().Results()
	if f.Signature().Recv() == nil || results.Len() != 2 {
		return ""
	}
	pointer, _ := results.At(0).Type().(*types.Pointer)
	if pointer == nil {
		return ""
	}
	output, _ := pointer.Elem().(*types.Named)
	if output == nil || output.Obj().Pkg() == nil {
		return ""
	}
	service, isClient := strings.CutPrefix(output.Obj().Pkg().Path(), clients)
	operation, isOutput := strings.CutSuffix(output.Obj().Name(), "Output")
	if !isClient || !isOutput {
		return ""
	}
	return services[service] + "." + operation
}

// rowOf returns the operation of a row of package call, empty for other objects. A row has the name
// of its operation.
func rowOf(object types.Object) string {
	row, ok := object.(*types.Var)
	if !ok || row.Pkg() == nil || row.Pkg().Path() != "github.com/waitless/waitless/pkg/aws/call" {
		return ""
	}
	for _, each := range call.Rows() {
		if each.Name == row.Name() {
			return each.Service.ID + "." + each.Name
		}
	}
	return ""
}

// services are the names of services as clients know them, by the package of the client.
var services = map[string]string{
	"batch": "Batch", "cloudformation": "CloudFormation", "cloudwatch": "CloudWatch",
	"databasemigrationservice": "Database Migration Service", "dynamodb": "DynamoDB",
	"eventbridge": "EventBridge", "iam": "IAM", "lambda": "Lambda", "s3": "S3", "scheduler": "Scheduler", "secretsmanager": "Secrets Manager", "sfn": "SFN",
	"sns": "SNS", "sqs": "SQS", "sts": "STS", "transcribe": "Transcribe",
}
