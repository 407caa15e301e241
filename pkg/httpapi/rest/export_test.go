package rest

// ParametersOfRoutes returns the query parameters of every route by its pattern.
func ParametersOfRoutes() map[string][]string {
	routes := map[string][]string{}
	for _, r := range (handler{}).routes() {
		routes[r.pattern] = r.parameters
	}
	return routes
}
