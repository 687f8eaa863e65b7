package main

import "github.com/plantstore/plantstore/internal/workshop/recall/fault"

var faults = []fault.Fault{
	fault.New(fault.Paging, "next-without-filter", "the Link to the next list does not have the tag"),
	fault.New(fault.Paging, "endless-next", "the last list has a Link to a next one"),
	fault.New(fault.Paging, "order-ignored", "order=desc lists in ascending order"),

	fault.New(fault.Conditional, "stale-put", "PUT with an old ETag in If-Match must be 412, and replaces the page"),
	fault.New(fault.Conditional, "stale-delete", "DELETE with an old ETag in If-Match must be 412, and deletes the page"),
	fault.New(fault.Conditional, "never-304", "GET with the ETag of the page in If-None-Match must be 304, and is 200"),
	fault.New(fault.Conditional, "any-304", "GET with another ETag in If-None-Match must be 200, and is 304"),
	fault.New(fault.Conditional, "etag-stays", "a replaced page has the ETag that it had before"),
	fault.New(fault.Conditional, "star-replaces", "PUT with If-None-Match: * must be 412 where there is a page, and replaces it"),
	fault.New(fault.Conditional, "one-etag-only", "If-None-Match may be a list (RFC 9110, 13.1.2), of which only the first ETag is read"),
	fault.New(fault.Conditional, "refused-but-written", "PUT with an old ETag in If-Match is 412, and replaces the page all the same"),

	fault.New(fault.State, "racing-puts", "two PUTs at the same time with the same ETag in If-Match both replace the page"),
	fault.New(fault.State, "null-tags", "the tags of a page without tags are null"),
}
