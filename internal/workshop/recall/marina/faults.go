package main

import "github.com/plantstore/plantstore/internal/workshop/recall/fault"

var faults = []fault.Fault{
	fault.New(fault.Nested, "berth-of-other-pier", "GET of a berth by the path of another pier must be 404, and is 200"),
	fault.New(fault.Nested, "delete-by-other-pier", "DELETE of a berth by the path of another pier must be 404, and deletes it"),
	fault.New(fault.Nested, "berths-of-all-piers", "the list of the berths of a pier has those of other piers"),
	fault.New(fault.Nested, "berths-of-missing-pier", "the list of the berths of a pier that does not exist must be 404, and is empty"),
	fault.New(fault.Nested, "berth-in-missing-pier", "POST of a berth for a pier that does not exist must be 404, and is 201"),
	fault.New(fault.Nested, "wrong-pier-id", "pierId of a new berth is not that of the pier in the path"),
	fault.New(fault.Nested, "berths-survive", "a berth can still be read after its pier was deleted"),
	fault.New(fault.Nested, "stays-of-all-berths", "the list of the stays in a berth has those in other berths of the pier"),

	fault.New(fault.Credentials, "open-nested", "the list of berths needs a token, and is given without one"),
	fault.New(fault.Credentials, "open-delete", "DELETE of a boat needs a token, and deletes without one"),
	fault.New(fault.Credentials, "any-token", "POST of a pier accepts any token"),
	fault.New(fault.Credentials, "token-prefix", "the beginning of the token is accepted as the token"),
	fault.New(fault.Credentials, "no-challenge", "401 has no WWW-Authenticate, which the document and HTTP require"),
	fault.New(fault.Credentials, "malformed-crashes", "Authorization without a space after the scheme must be 401, and is 500"),
	fault.New(fault.Credentials, "health-needs-token", "getHealth has no security, and refuses requests without a token"),
	fault.New(fault.Credentials, "scheme-in-lower-case", "HTTP says that the scheme has no case, and bearer is refused"),

	fault.New(fault.Paging, "one-too-many", "a page has limit + 1 boats where there are more"),
	fault.New(fault.Paging, "no-default-limit", "a page without limit has more boats than the default of limit"),
	fault.New(fault.Paging, "total-of-all", "total counts boats that the filter leaves out"),
	fault.New(fault.Paging, "offset-overlaps", "the page after the first one begins with the last boat of the first one"),
	fault.New(fault.Paging, "filter-after-page", "the filter is applied to the page, which then lacks boats that match"),

	fault.New(fault.State, "id-by-count", "the id of a new pier is the number of piers, so one is given twice after a delete"),
	fault.New(fault.State, "racing-ids", "two boats that are added at the same time get one id"),
	fault.New(fault.State, "change-revives", "PATCH of a deleted boat must be 404, and brings it back"),
	fault.New(fault.State, "default-depth", "depth of a new berth is 0 where it was left out, and not the default of 30"),
	fault.New(fault.State, "location-nowhere", "Location of a new berth has no pier, and leads to 404"),
	fault.New(fault.State, "total-after-delete", "total still counts deleted boats"),
}
