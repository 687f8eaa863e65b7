package scenario

// What the options declare of a service, because its document cannot say it.

// Operation is what the document says of an operation besides OpenAPI.
type Operation struct {
	ID         string
	Extensions map[string]any // by name, as "x-required-scope"
}

// Credentials are what a request sends for each security scheme of the document, by its name: a token,
// an API key, or user:password.
type Credentials map[string]string

// Rules are promises that OpenAPI leaves open. A service that does not make one
// is not tested for it.
type Rules struct {
	// Exact: a response has no header, no member, no body and no parameter of a JSON media type that the document does
	// not name. A slash at the end of a path makes another path, which must be 404, and Allow is one line.
	Exact bool
	// AnyHeader are the headers that any response may have with Exact without the document naming them, each with the
	// reason. Headers that HTTP itself needs, as Content-Length, are always allowed.
	AnyHeader map[string]string
	// Scope is the scope that an operation needs, or nothing. Nil: no operation needs one.
	Scope func(Operation) string
	// NotWritten is the status, such as 501, with which an operation responds that is not written yet. What it promises
	// is then not tested, and Test fails once for each such operation.
	NotWritten int
	// StrictJSON: refuses duplicate names, invalid UTF-8, lone surrogates, deep
	// nesting, and numbers such as 1.0 for an integer.
	StrictJSON bool
	// StrictParameters: an integer in a parameter is canonical decimal, and a
	// parameter that is given twice is refused.
	StrictParameters bool
	// StrictMediaTypes: a request with another charset or without Content-Type is refused.
	StrictMediaTypes bool
	// RefusesUnknown reports whether an operation refuses unknown query
	// parameters; otherwise it ignores them. Nil: not tested.
	RefusesUnknown func(Operation) bool
	// Options: OPTIONS of every known path is 204 with Allow.
	Options bool
	// Head: every GET may also be HEAD.
	Head bool
}

// ScopeOf is the scope that an operation needs, or nothing.
func (r Rules) ScopeOf(operation Operation) string {
	if r.Scope == nil {
		return ""
	}
	return r.Scope(operation)
}

// Resource is something that operations create, read, replace, change and
// delete. The links of a document declare resources, others are inferred; one in the options
// replaces what was inferred for its Create. Operations are named by their operationId; all but
// Create and Read are optional.
type Resource struct {
	// Create may be a PUT, and then is also Replace.
	Create string
	// ID is the member of the create's body that identifies the resource. If Assigned, the service chooses it and the
	// response has it. Where it is not at the top it is a JSON Pointer, which says where the thing is, too: with /data/id
	// that is /data, and /data/attributes if there are some.
	ID       string
	Assigned bool `json:",omitempty"`

	Read, Replace, Change, Delete string `json:",omitempty"`
}

// List is an operation that lists the resources of a create operation. It replaces what was
// inferred for the operation. Without Create it lists nothing that a test creates, and nothing is inferred of it.
type List struct {
	Operation, Create string
	ID                string // the member of an item that is its identity, or a JSON Pointer to it
	// Items is the member of the response that holds the items, or a JSON Pointer to it, such as /data/items; empty: the
	// response is the array.
	Items string `json:",omitempty"`
	// Limit, After: parameters for the most items, and for the identity that the
	// items follow. Empty: there is none.
	Limit, After string `json:",omitempty"`
	// Next is the member of the response with the After of the next page, or with its URL;
	// "meta/next" is a member of a member. Empty: After is the identity of the last item.
	Next string `json:",omitempty"`
	// Offset, Page: parameters for how many items come before, and for the number of the page,
	// of which the first is 1 if the parameter has no other default. Empty: there is none.
	Offset, Page string `json:",omitempty"`
	// Filters are parameters by which items are selected, with the member of the item that must equal it. What it must be
	// instead may follow the name: "title anycase"; "title begins" and "title contains", which leave the case open; "price >="
	// and "price <="; "day above" and "day below", which leave open whether the value itself is selected.
	Filters map[string]string `json:",omitempty"`
}
