package contract

// exceptions are promises that no test has to receive, each with its reason.
// There are none; keep it so.
var exceptions = map[string]string{}
