package report

import (
	"encoding/json"
	"io"
)

// The form of a report in JSON. Members are added in later versions, and none is removed or gets another meaning.
type (
	jsonReport struct {
		Title         string        `json:"title"`
		Version       string        `json:"version"`
		Seed          uint64        `json:"seed"`
		Kept          int           `json:"kept"`
		Broken        int           `json:"broken"`
		NotTested     int           `json:"not_tested"`
		Causes        []jsonCause   `json:"causes"`
		NeverAccepted []string      `json:"never_accepted"`
		NotFound      []string      `json:"known_but_not_found"`
		Promises      []jsonPromise `json:"promises"`
	}
	jsonCause struct {
		ID       string        `json:"id"`
		Cause    string        `json:"cause"`
		Known    string        `json:"known,omitempty"`
		Count    int           `json:"count"`
		Places   []jsonPlace   `json:"places"`
		Message  string        `json:"message"`
		Request  string        `json:"request,omitempty"`
		Response *jsonResponse `json:"response,omitempty"`
		Tests    []string      `json:"tests"`
		Script   string        `json:"script,omitempty"`
	}
	jsonPlace struct {
		ID        string `json:"id"`
		Operation string `json:"operation"`
	}
	jsonResponse struct {
		Status int    `json:"status"`
		Body   string `json:"body"`
	}
	jsonPromise struct {
		ID        string `json:"id"`
		Operation string `json:"operation,omitempty"`
		Name      string `json:"name"`
		State     State  `json:"state"`
		Why       string `json:"why"`
		Cause     string `json:"cause,omitempty"`
		Known     bool   `json:"known,omitempty"`
	}
)

// JSON writes the report as an object of JSON, for programs: the README beside the package contracttest describes it.
func (r Report) JSON(w io.Writer) error {
	form := jsonReport{
		Title: r.Title, Version: r.Version, Seed: r.Seed,
		Kept: r.Kept, Broken: r.Broken, NotTested: r.NotTested,
		Causes: []jsonCause{}, NeverAccepted: []string{}, NotFound: append([]string{}, r.Lost...), Promises: []jsonPromise{},
	}
	for _, cause := range r.Causes {
		form.Causes = append(form.Causes, cause.json())
	}
	for _, never := range r.Never {
		form.NeverAccepted = append(form.NeverAccepted, never.String())
	}
	for _, p := range r.Promises {
		form.Promises = append(form.Promises, jsonPromise{
			ID: p.ID(), Operation: p.Promise.Operation, Name: p.Name, State: p.State, Why: p.Why, Cause: p.Cause, Known: p.Excepted,
		})
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(form)
}

// json is the form of a cause.
func (c Cause) json() jsonCause {
	form := jsonCause{
		ID: c.ID, Cause: c.Cause, Known: c.Known, Count: c.Count, Places: []jsonPlace{}, Message: c.First.Message, Tests: c.Tests,
		Script: c.Script(),
	}
	for _, place := range c.Places {
		form.Places = append(form.Places, jsonPlace(place))
	}
	if c.First.Sent.Method != "" {
		form.Request = c.First.Sent.Curl()
	}
	if c.First.Sent.Status != 0 {
		form.Response = &jsonResponse{Status: c.First.Sent.Status, Body: string(c.First.Sent.Body)}
	}
	return form
}
