package main

// firstResults are what contracttest found when it ran on the rows of the table for the first time, with the commit that
// last changed it before.
var firstResults = map[string]string{}
