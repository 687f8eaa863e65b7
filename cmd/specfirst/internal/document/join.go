package document

import (
	"cmp"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// joiner puts what other files have in the place of references to them. Schemas become components, because they may refer to
// themselves.
type joiner struct {
	*Document
	folder  *os.Root
	base    string                // the name of the document in the folder
	files   map[string]*yaml.Node // by name
	names   map[string]string     // of components, by file and pointer
	changed bool
	err     error // the first mistake; nothing is done after it
}

// join joins the files in the folder of the document that it refers to. No URL is fetched, and no file above the folder is read.
func (d *Document) join() error {
	folder, err := os.OpenRoot(filepath.Dir(d.Path))
	if err != nil {
		return err
	}
	defer folder.Close()
	base := filepath.Base(d.Path)
	j := &joiner{Document: d, folder: folder, base: base, files: map[string]*yaml.Node{base: d.root}, names: map[string]string{}}
	j.walk(d.root, base, "", 0)
	if j.err == nil && j.changed {
		return d.reprint()
	}
	return j.err
}

func (j *joiner) fail(reference *yaml.Node, format string, args ...any) {
	j.err = cmp.Or(j.err, j.mistake(reference, "$ref %q "+format, append([]any{reference.Value}, args...)...))
}

// walk replaces the references below a node of a file. The name is that of the member which has the node.
func (j *joiner) walk(node *yaml.Node, file, name string, depth int) {
	const deepest = 200
	if depth > deepest {
		j.err = cmp.Or(j.err, j.mistake(node, "the files refer to each other without end: break the circle with a schema"))
	}
	if j.err != nil {
		return
	}
	if reference := referenceOf(node); reference != nil {
		j.replace(node, reference, file, name, depth)
		return
	}
	for below, value := range structure(node, name) {
		j.walk(value, file, below, depth+1)
	}
}

// replace puts what a reference to another file leads to in its place.
func (j *joiner) replace(node, reference *yaml.Node, file, name string, depth int) {
	where, pointer, _ := strings.Cut(reference.Value, "#")
	if strings.Contains(where, "://") {
		j.fail(reference, "is a URL, and nothing is fetched: save it as a file beside the document")
		return
	}
	wanted := file
	if plain, err := url.PathUnescape(where); err == nil && where != "" {
		wanted = filepath.ToSlash(filepath.Join(filepath.Dir(file), plain))
	}
	if wanted == j.base {
		j.changed = j.changed || where != "" || file != j.base
		reference.Value = "#" + pointer
		return
	}
	content := j.open(wanted, reference)
	if content == nil {
		return
	}
	j.changed = true
	found := resolve(content, pointer)
	switch {
	case found == nil:
		j.fail(reference, "leads to nothing: %s has no %s", wanted, pointer)
	case isSchemaPlace(name) || strings.Contains(pointer, "/schemas/"):
		j.component(reference, found, wanted, pointer, depth)
	default:
		copied := j.own(found, wanted)
		j.walk(copied, wanted, name, depth+1)
		node.Kind, node.Tag, node.Content, node.Style = copied.Kind, copied.Tag, copied.Content, copied.Style
	}
}

// component makes a schema of another file a component, once.
func (j *joiner) component(reference, found *yaml.Node, file, pointer string, depth int) {
	key := file + "#" + pointer
	if j.names[key] == "" {
		j.names[key] = j.freeName(file, pointer)
		copied := j.own(found, file)
		set(made(j.root, "components", "schemas"), j.names[key], copied)
		j.walk(copied, file, "schema", depth+1)
	}
	reference.Value = "#/components/schemas/" + j.names[key]
}

// oddInNames are what names of components cannot have.
var oddInNames = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// freeName returns a name for a schema of a file that no other one has.
func (j *joiner) freeName(file, pointer string) string {
	last := unescape(pointer[strings.LastIndex(pointer, "/")+1:])
	if last == "" {
		last = strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	}
	name := strings.Trim(oddInNames.ReplaceAllString(last, "_"), "_")
	for free, i := name, 2; ; free, i = name+strconv.Itoa(i), i+1 {
		if find(j.root, "components", "schemas", free) == nil {
			return free
		}
	}
}

// own copies a node of a file, and remembers for messages where it is from.
func (j *joiner) own(node *yaml.Node, file string) *yaml.Node {
	copied := clone(node)
	var mark func(*yaml.Node)
	mark = func(node *yaml.Node) {
		j.origin[node] = filepath.Join(filepath.Dir(j.Path), file)
		for _, below := range node.Content {
			mark(below)
		}
	}
	mark(copied)
	return copied
}

// open reads a file in the folder of the document, once.
func (j *joiner) open(name string, reference *yaml.Node) *yaml.Node {
	if known := j.files[name]; known != nil {
		return known
	}
	info, err := j.folder.Lstat(filepath.FromSlash(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		j.fail(reference, "leads to nothing: there is no file %s beside the document", name)
		return nil
	case err != nil || !info.Mode().IsRegular():
		j.fail(reference, "is not read: only files in the folder of the document are, and no symbolic links")
		return nil
	}
	content, err := j.folder.ReadFile(filepath.FromSlash(name))
	if err == nil {
		j.files[name], err = parse(filepath.Join(filepath.Dir(j.Path), name), content)
	}
	j.err = cmp.Or(j.err, err)
	return j.files[name]
}
