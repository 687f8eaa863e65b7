package system_test

import (
	"cmp"
	"slices"
	"testing"

	"github.com/anishathalye/porcupine"
)

// outcome is how an operation of a history has ended.
type outcome string

const (
	succeeded       outcome = "succeeded"
	notFound        outcome = "notFound"        // 404
	failedCondition outcome = "failedCondition" // 412
	idTaken         outcome = "idTaken"         // 40010
	notKnown        outcome = "notKnown"        // 503 or no response: it may have happened
)

// historyInput is an operation on a plant.
type historyInput struct {
	Operation string // create, put, patch, delete or get
	By        string // the name of the client
	ID        int64
	Name, Tag string
	IfMatch   version // the zero value: any
	IfNone    bool    // If-None-Match: *
}

// version is a plant that a client has seen, in JSON as the service has it. Each write has a name or a tag of its own.
type version struct {
	Name, Tag, ETag string
	By              string `json:"changed_by"`
}

// historyOutput is what a client has learnt of an operation. Plant is set if it has the plant.
type historyOutput struct {
	Outcome outcome
	Plant   version
}

// plantState is the state of a plant. The ETag is empty until a client has seen it: the response
// to a create does not have it, nor does a request without a response.
type plantState struct {
	Exists bool
	Plant  version
}

// plantModel is what the document says of one plant.
var plantModel = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byID := map[int64][]porcupine.Operation{}
		for _, o := range history {
			id := o.Input.(historyInput).ID
			byID[id] = append(byID[id], o)
		}
		var parts [][]porcupine.Operation
		for _, part := range byID {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() any { return plantState{} },
	Step: func(state, input, output any) (bool, any) {
		return stepPlant(state.(plantState), input.(historyInput), output.(historyOutput))
	},
}

// stepPlant reports whether an operation can have an outcome in a state, and returns the next
// state.
func stepPlant(s plantState, in historyInput, out historyOutput) (possible bool, next plantState) {
	want, next := expected(s, in)
	if out.Outcome == notKnown {
		return true, next // without an effect, it comes last in the history
	}
	if out.Outcome != want {
		return false, s
	}
	if out.Plant == (version{}) {
		return true, next
	}
	have := next.Plant
	have.ETag = cmp.Or(have.ETag, out.Plant.ETag)
	next.Plant = have
	return have == out.Plant, next
}

// expected returns the outcome of an operation that gets a response, and the state after it.
func expected(s plantState, in historyInput) (outcome, plantState) {
	written := plantState{Exists: true, Plant: version{Name: in.Name, Tag: in.Tag, By: in.By}}
	switch in.Operation {
	case "get":
		if !s.Exists {
			return notFound, s
		}
		return succeeded, s
	case "create":
		if !s.Exists {
			return succeeded, written
		}
		if s.Plant.Name == in.Name && s.Plant.Tag == in.Tag {
			return succeeded, s
		}
		return idTaken, s
	case "put":
		if !s.matches(in) {
			return failedCondition, s
		}
		return succeeded, written
	}
	if !s.Exists {
		return notFound, s
	}
	if !s.matches(in) {
		return failedCondition, s
	}
	if in.Operation == "delete" {
		return succeeded, plantState{}
	}
	patched := version{Name: cmp.Or(in.Name, s.Plant.Name), Tag: cmp.Or(in.Tag, s.Plant.Tag), By: in.By}
	return succeeded, plantState{Exists: true, Plant: patched}
}

// matches reports whether the preconditions of an operation hold. If no client has seen the ETag
// of a plant, its texts tell the version.
func (s plantState) matches(in historyInput) bool {
	if in.IfNone {
		return !s.Exists
	}
	if in.IfMatch == (version{}) {
		return true
	}
	have := s.Plant
	have.ETag = cmp.Or(have.ETag, in.IfMatch.ETag)
	return s.Exists && have == in.IfMatch
}

// The model refuses histories that the document does not allow.
func TestPlantModel(t *testing.T) {
	a, b := version{Name: "a", ETag: "1"}, version{Name: "b", ETag: "2"}
	create := step{in: historyInput{Operation: "create", Name: "a"}, out: historyOutput{Outcome: succeeded}}
	get := func(v version) step {
		return step{in: historyInput{Operation: "get"}, out: historyOutput{Outcome: succeeded, Plant: v}}
	}
	put := func(match version, o outcome) step {
		out := historyOutput{Outcome: o}
		if o == succeeded {
			out.Plant = b
		}
		return step{in: historyInput{Operation: "put", Name: "b", IfMatch: match}, out: out}
	}
	remove := func(o outcome) step {
		return step{in: historyInput{Operation: "delete"}, out: historyOutput{Outcome: o}}
	}
	gone := step{in: historyInput{Operation: "get"}, out: historyOutput{Outcome: notFound}}
	for _, test := range []struct {
		name  string
		steps []step
		want  bool
	}{
		{"a plant is read after it was created", []step{create, get(a)}, true},
		{"a plant has two etags", []step{create, get(a), get(version{Name: "a", ETag: "3"})}, false},
		{"a create that was acknowledged is lost", []step{create, gone}, false},
		{"a put matches", []step{create, get(a), put(a, succeeded), get(b)}, true},
		{"a plant has the name of another client", []step{create, get(version{Name: "a", ETag: "1", By: "another"})}, false},
		{"a put ignores If-Match", []step{create, get(a), put(version{Name: "a", ETag: "3"}, succeeded)}, false},
		{"a put that matches is refused", []step{create, get(a), put(a, failedCondition)}, false},
		{"a read is stale", []step{create, get(a), put(a, succeeded), get(a)}, false},
		{"a put without a response has happened", []step{create, get(a), put(a, notKnown), get(b)}, true},
		{"a put without a response has not happened", []step{create, get(a), put(a, notKnown), get(a)}, true},
		{"a put is undone", []step{create, get(a), put(a, notKnown), get(b), get(a)}, false},
		{"a plant is deleted twice", []step{create, remove(succeeded), remove(succeeded)}, false},
		{"a deleted plant is not there", []step{create, remove(succeeded), remove(notFound), gone, create, get(a)}, true},
	} {
		var history []porcupine.Operation
		for i, s := range test.steps {
			o := porcupine.Operation{Input: s.in, Output: s.out, Call: int64(2 * i), Return: int64(2*i + 1)}
			if s.out.Outcome == notKnown {
				o.Return = never
			}
			history = append(history, o)
		}
		if have := porcupine.CheckOperations(plantModel, slices.Clone(history)); have != test.want {
			t.Errorf("%s: the model says %v, want %v", test.name, have, test.want)
		}
	}
}

// step is an operation of TestPlantModel.
type step struct {
	in  historyInput
	out historyOutput
}

// never is the time at which an operation without a known outcome returns: it may happen at any
// time after it was sent, also after all others, which is as if it had not happened.
const never = int64(1) << 62
