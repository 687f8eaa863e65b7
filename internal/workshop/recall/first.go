package main

// firstResults are what contracttest found when it ran on the rows of the table for the first time, at f364c611: the median of
// five seeds, or with a dash of two.
var firstResults = map[string]string{
	"mutants: a to-do list":            "10",
	"mutants: a to-do list with a key": "14",
	"mutants: Mailpit":                 "14",
	"members and dates":                "5–7",
	"filters of equal values":          "0–1",
	"ranges":                           "0",
	"echo":                             "0",
	"deletes":                          "3",
	"all that were frozen":             "49",
}
