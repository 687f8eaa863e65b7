package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/plantstore/plantstore/api/contracttest/scenario"
)

// Annotations writes a workflow command of GitHub Actions for each cause that is not known: an error that is shown at the
// operation in the document. line returns the line of an operation in file, or 0; a document that is no file has no name.
//
//	::error file=openapi.yaml,line=7,title=[0123abcd] addThing responds with 500::the message, %0A between its lines
//
// https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands#setting-an-error-message
func (r Report) Annotations(w io.Writer, file string, line func(operation string) int) error {
	for _, cause := range r.Causes {
		if cause.Known != "" {
			continue
		}
		at := ""
		if file != "" {
			at = "file=" + propertyEscapes.Replace(file) + ","
			if found := line(cause.Places[0].Operation); found > 0 {
				at += fmt.Sprintf("line=%d,", found)
			}
		}
		title := propertyEscapes.Replace(fmt.Sprintf("[%s] %s", cause.ID, cause.Cause))
		_, err := fmt.Fprintf(w, "::error %stitle=%s::%s\n", at, title, messageEscapes.Replace(cause.shown()))
		if err != nil {
			return err
		}
	}
	return nil
}

// What is escaped in the message of a workflow command, and in the value of a property of it.
var (
	messageEscapes  = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	propertyEscapes = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// mostInMarkdown is how many causes a summary shows.
const mostInMarkdown = 10

// Markdown writes how much was tested, the first causes with a request each, and what is not tested, as the summary of a job of
// GitHub Actions.
func (r Report) Markdown(w io.Writer) error {
	var text strings.Builder
	fmt.Fprintf(&text, "### %s %s\n\n%d promises kept, %d broken, %d not tested\n", r.Title, r.Version, r.Kept, r.Broken, r.NotTested)
	for _, warning := range r.Warnings {
		fmt.Fprintf(&text, "\n%s\n", escapedMarkdown(warning))
	}
	shown, left := 0, 0
	for _, cause := range r.Causes {
		switch {
		case cause.Known != "":
		case shown == mostInMarkdown:
			left++
		default:
			shown++
			fmt.Fprintf(&text, "\n**%s** `%s`\n\n%s\n", escapedMarkdown(cause.Cause), cause.ID, fenced(cause.shown()))
		}
	}
	if left > 0 {
		fmt.Fprintf(&text, "\nand %d more causes\n", left)
	}
	if shown > 0 {
		fmt.Fprintf(&text, "\nDraw the same values again: `--seed %d`\n", r.Seed)
	}
	var notTested strings.Builder
	r.writeNotTested(&notTested)
	if notTested.Len() > 0 {
		fmt.Fprintf(&text, "\n%s\n", fenced(strings.TrimSpace(notTested.String())))
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// escapedMarkdown keeps what a service has sent from being formatted: *a* makes \*a\*. It shows the beginning, in one line.
func escapedMarkdown(text string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "`", "\\`", "<", "&lt;", "[", `\[`).Replace(scenario.InOneLine([]byte(text)))
}

// fenced is a text as it is. The fence is longer than each row of backticks in the text.
func fenced(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + text + "\n" + fence
}
