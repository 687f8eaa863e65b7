package resources

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plantstore/plantstore/api/contracttest/internal/document"
	"github.com/plantstore/plantstore/api/contracttest/internal/jsonvalue"
	"github.com/plantstore/plantstore/api/contracttest/internal/schema"
)

// Filter is how a parameter of a list selects items: by their member, which has a [Meaning] to the value of the parameter.
//
// A parameter with the name and the schema of a member selects the items whose member equals it, and so does one with the
// name, the schema and a word of order, such as min_price, in its own way. Any other one is a guess.
type Filter struct {
	Parameter, Member string
	Meaning           Meaning
	IsGuess           bool // a right service may mean something else
}

// String is the filter as the options have it.
func (f Filter) String() string { return strings.TrimSuffix(f.Member+" "+string(f.Meaning), " ") }

// IsCertain reports whether it is known of each value whether the filter selects it.
func (f Filter) IsCertain() bool {
	return !f.IsGuess && !slices.Contains([]Meaning{Begins, Contains, Above, Below}, f.Meaning)
}

// Meaning says which values of a member a value of a parameter selects. The options have it after the name of the member.
type Meaning string

const (
	Equal    Meaning = ""
	AnyCase  Meaning = "anycase"  // equal, also in the other case
	Begins   Meaning = "begins"   // with it, maybe in the other case
	Contains Meaning = "contains" // it, maybe in the other case
	Least    Meaning = ">="
	Most     Meaning = "<="
	Above    Meaning = "above" // more, and maybe the value itself
	Below    Meaning = "below" // less, and maybe the value itself
)

// Meanings are all of them. Those that say most come first.
var Meanings = []Meaning{Equal, AnyCase, Begins, Contains, Least, Most, Above, Below}

// IsOrder reports whether it is a bound of values that have an order.
func (m Meaning) IsOrder() bool { return slices.Contains([]Meaning{Least, Most, Above, Below}, m) }

// Selects reports whether a value of the parameter selects a member with a value, and if not, whether that is open: a right
// service may select it. An array is selected if one of its items is.
func (m Meaning) Selects(have, wanted any) (selects, isOpen bool) {
	if all, isArray := have.([]any); isArray {
		for _, item := range all {
			isSelected, mayBe := m.Selects(item, wanted)
			selects, isOpen = selects || isSelected, isOpen || mayBe
		}
		return selects, isOpen
	}
	if have == nil {
		return false, false
	}
	order := compare(have, wanted)
	one, other := fmt.Sprint(have), fmt.Sprint(wanted)
	folded, otherFolded := strings.ToLower(one), strings.ToLower(other)
	switch m {
	case AnyCase:
		return folded == otherFolded, false
	case Begins:
		return strings.HasPrefix(one, other), strings.HasPrefix(folded, otherFolded)
	case Contains:
		return strings.Contains(one, other), strings.Contains(folded, otherFolded)
	case Least:
		return order >= 0, false
	case Most:
		return order <= 0, false
	case Above:
		return order > 0, order == 0
	case Below:
		return order < 0, order == 0
	}
	return order == 0, false
}

// compare orders two values: as numbers if both are numbers, as times if both are times, else as texts.
func compare(have, wanted any) int {
	one, other := fmt.Sprint(have), fmt.Sprint(wanted)
	number, err := strconv.ParseFloat(one, 64)
	otherNumber, otherErr := strconv.ParseFloat(other, 64)
	if err == nil && otherErr == nil {
		return cmp.Compare(number, otherNumber)
	}
	moment, err := time.Parse(time.RFC3339, one)
	otherMoment, otherErr := time.Parse(time.RFC3339, other)
	if err == nil && otherErr == nil {
		return moment.Compare(otherMoment)
	}
	return cmp.Compare(one, other)
}

// declaredFilter is a filter of the options: the name of a member, and maybe a meaning, as "price >=".
func declaredFilter(parameter, says string) Filter {
	f := Filter{Parameter: parameter, Member: says}
	if i := strings.LastIndexByte(says, ' '); i > 0 && slices.Contains(Meanings, Meaning(says[i+1:])) {
		f.Member, f.Meaning = says[:i], Meaning(says[i+1:])
	}
	return f
}

// otherThanEqual are words about a parameter that selects not what has its value, and saysOther about one that selects by a
// part of it.
var (
	otherThanEqual = regexp.MustCompile(`(?i)before|after|since|until|less|greater|\bm(in|ax)|above|below|least|most|between|\bnot\b|n't|without|exclu|except|other than|sort|order|ignored`)
	saysOther      = regexp.MustCompile(`(?i)contain|prefix|suffix|begin|start|part\b|partial|substring|search|insensitive|\bcase\b|fuzzy|similar|like\b|match|pattern|wildcard`)
)

// saysOpen are words about a bound that leave open, or say otherwise, whether it selects the value itself.
var saysOpen = regexp.MustCompile(`(?i)exclusive|strict|before|after|until|since|more than|less than|greater than`)

// bounds are words in names of parameters that are a bound of a member, with what they usually mean. For after, since, before and
// until it is not usual whether they select the value itself.
var bounds = map[string]Meaning{
	"min": Least, "from": Least, "gte": Least, "ge": Least, "max": Most, "to": Most, "lte": Most, "le": Most,
	"gt": Above, "after": Above, "since": Above, "lt": Below, "before": Below, "until": Below,
}

// openBounds leave open whether they select the value itself, in place of bounds that do.
var openBounds = map[Meaning]Meaning{Least: Above, Most: Below}

// opposites are the bounds that make a range with another one, if no name says which member it is about.
var opposites = map[string]string{"from": "to", "min": "max", "since": "until", "after": "before"}

// findFilter is the filter that a parameter seems to be, by the member with its name, or else by the one that it is a bound of;
// or nil.
func (s *Set) findFilter(l *List, parameter *document.Parameter, thing *schema.Schema) *Filter {
	f := &Filter{Parameter: parameter.Name}
	f.Member = s.memberOfParameter(thing, PlainName(parameter.Name), l.ID)
	rest, word := boundOf(parameter.Name)
	if f.Member == "" && word != "" {
		f.Meaning = bounds[word]
		f.Member = s.boundedMember(l, parameter, thing, rest, word)
	}
	if !s.canSelect(l, parameter, thing, f) {
		return nil
	}
	return f
}

// boundedMember is the member that a bound is about, or nothing: the one that has the rest of its name, as price for min_price,
// or if nothing is left and the list has the opposite bound, too, the only one that is like the parameter.
func (s *Set) boundedMember(l *List, parameter *document.Parameter, thing *schema.Schema, rest, word string) string {
	if rest != "" {
		return s.memberOfParameter(thing, rest, l.ID)
	}
	wanted := s.scalar(parameterSchema(s, parameter))
	isPair := slices.ContainsFunc(l.ReadBy.Parameters, func(other *document.Parameter) bool {
		return opposites[other.Name] == word || opposites[word] == other.Name
	})
	// The bounds min and max are of numbers, and all others of times: a number with the name from or after may be a position in
	// the list.
	isOfNumbers := slices.Contains([]string{"min", "max"}, word)
	if !isPair || isOfNumbers != schema.IsNumber(wanted) {
		return ""
	}
	return s.onlyAlike(l, parameter, thing, wanted)
}

// onlyAlike is the only member that has the type and the format of a parameter, or of several the only one that its description
// names; or nothing.
func (s *Set) onlyAlike(l *List, parameter *document.Parameter, thing, wanted *schema.Schema) string {
	var alike []string
	for _, name := range s.values.Names(thing) {
		member := s.scalar(s.values.Property(thing, name))
		isAlike := sameKind(wanted, member) && schema.FormatOf(wanted) == schema.FormatOf(member)
		if isAlike && name != l.ID {
			alike = append(alike, name)
		}
	}
	if len(alike) > 1 {
		alike = slices.DeleteFunc(alike, func(name string) bool { return !isNamedIn(parameter.Description, name) })
	}
	if len(alike) != 1 {
		return ""
	}
	return alike[0]
}

// isNamedIn reports whether a description has the name of a member, or a longer or a shorter form of it: "that open on this day
// or later" names opens. Words of less than four letters are no form of another one.
func isNamedIn(description, name string) bool {
	name = PlainName(name)
	return slices.ContainsFunc(wordOfName.FindAllString(strings.ToLower(description), -1), func(word string) bool {
		isLong := min(len(word), len(name)) > 3
		return word == name || isLong && (strings.HasPrefix(name, word) || strings.HasPrefix(word, name))
	})
}

// canSelect reports whether a parameter, the create and the list have the member of a filter in the same type: a test must be
// able to choose its value, so a create must send it. It completes the filter, too: a bound may be open, and what equals may be
// a guess.
func (s *Set) canSelect(l *List, parameter *document.Parameter, thing *schema.Schema, f *Filter) bool {
	sent := s.values.Property(l.Resource.Create.ThingSchema(), f.Member)
	if sent == nil {
		return false
	}
	wanted, member, listed := s.scalar(parameterSchema(s, parameter)), s.scalar(sent), s.scalar(s.values.Property(thing, f.Member))
	if !sameKind(wanted, member) || !sameKind(member, listed) {
		return false
	}
	if f.Meaning.IsOrder() {
		f.Meaning = opened(f.Meaning, wanted, parameter.Description)
		return isOrdered(wanted) && schema.FormatOf(wanted) == schema.FormatOf(member)
	}
	_, word := boundOf(parameter.Name)
	isBound := word != "" && isOrdered(wanted)
	isSame := parameter.Name == f.Member && (saysSame(wanted, member) || saysSame(wanted, listed))
	f.IsGuess = isBound || !isSame || saysOther.MatchString(parameter.Description)
	return !otherThanEqual.MatchString(parameter.Description)
}

// opened is a bound as a right service may read it: Above in place of Least, and Below in place of Most, where the description
// says so, and for moments, because ranges of them are often half-open.
func opened(bound Meaning, wanted *schema.Schema, description string) Meaning {
	if schema.FormatOf(wanted) == "date-time" || saysOpen.MatchString(description) {
		return cmp.Or(openBounds[bound], bound)
	}
	return bound
}

// parameterSchema is what a parameter takes, where it is not null.
func parameterSchema(s *Set, parameter *document.Parameter) *schema.Schema {
	described, _ := document.ParameterSchema(parameter)
	return s.values.WithoutNull(s.values.Flatten(described))
}

// isOrdered reports whether the values of a schema have an order that has a meaning: numbers, days and moments.
func isOrdered(of *schema.Schema) bool {
	isTime := slices.Contains([]string{"date", "date-time"}, schema.FormatOf(of))
	return len(schema.ValuesOf(of)) == 0 && (schema.IsNumber(of) || isTime)
}

// saidOfValues are the keywords that two schemas must have alike to allow the same values.
var saidOfValues = []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength"}

// saysSame reports whether two schemas of values that are not composed say the same of them.
func saysSame(one, other *schema.Schema) bool {
	isOther := func(keyword string) bool {
		return !reflect.DeepEqual(schema.Keyword(one, keyword).Interface(), schema.Keyword(other, keyword).Interface())
	}
	isAlike := schema.FormatOf(one) == schema.FormatOf(other) && schema.PatternOf(one) == schema.PatternOf(other)
	return isAlike && jsonvalue.Same(schema.ValuesOf(one), schema.ValuesOf(other)) && !slices.ContainsFunc(saidOfValues, isOther)
}

// wordOfName is a word of a name: minPrice, min_price and price[min] have min and price.
var wordOfName = regexp.MustCompile(`[A-Z]?[a-z0-9]+|[A-Z]+`)

// boundOf is the first or the last word of a name if it is one of a bound, and the plain name that the others are: price and min
// of price[min].
func boundOf(name string) (rest, word string) {
	words := wordOfName.FindAllString(name, -1)
	for i, found := range words {
		lower := strings.ToLower(found)
		isOutside := i == 0 || i == len(words)-1
		if isOutside && bounds[lower] != "" {
			return PlainName(strings.Join(slices.Delete(words, i, i+1), "")), lower
		}
	}
	return "", ""
}
