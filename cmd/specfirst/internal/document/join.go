package document

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// joiner puts what other files have in the place of references to them. Schemas become components, because they may refer to
// themselves.
type joiner struct {
	document *Document
	folder   *os.Root
	files    map[string]*yaml.Node
	names    map[string]string // of components, by file and pointer
	changed  bool
}

// join joins the files in the folder of the document that it refers to. No URL is fetched, and no file above the folder is read.
func (d *Document) join() error {
	folder, err := os.OpenRoot(filepath.Dir(d.Path))
	if err != nil {
		return err
	}
	defer folder.Close()
	base := filepath.Base(d.Path)
	j := &joiner{d, folder, map[string]*yaml.Node{base: d.root}, map[string]string{}, false}
	if err := j.walk(d.root, base, "", 0); err != nil {
		return err
	}
	if j.changed {
		return d.reprint()
	}
	return nil
}

// walk replaces the references below a node of a file. The name is that of the member which has the node.
func (j *joiner) walk(node *yaml.Node, file, name string, depth int) error {
	const deepest = 200
	if depth > deepest {
		return j.document.mistake(node, "the files refer to each other without end: break the circle with a schema")
	}
	for key, value := range members(node) {
		if isValue(key.Value) && !isGroup(name) {
			continue
		}
		if key.Value == "$ref" && value.Kind == yaml.ScalarNode {
			return j.replace(node, value, file, name, depth)
		}
		below := key.Value
		if isGroup(name) {
			below = name + "/"
		}
		if err := j.walk(value, file, below, depth+1); err != nil {
			return err
		}
	}
	for _, item := range items(node) {
		if err := j.walk(item, file, name, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// isGroup reports whether the members of a member have names that are no keywords.
func isGroup(name string) bool { return name == "properties" || name == "schemas" || name == "$defs" }

// isValue reports whether a member is a value or an extension, in which $ref is a word as any other.
func isValue(name string) bool {
	return strings.HasPrefix(name, "x-") || slices.Contains([]string{"example", "examples", "default", "enum", "const"}, name)
}

// replace puts what a reference to another file leads to in its place.
func (j *joiner) replace(node, reference *yaml.Node, file, name string, depth int) error {
	where, pointer, _ := strings.Cut(reference.Value, "#")
	isRoot := file == filepath.Base(j.document.Path)
	if where == "" && isRoot {
		return nil
	}
	if strings.Contains(where, "://") {
		return j.document.mistake(reference, "$ref %q is a URL, and nothing is fetched: save it as a file beside the document", reference.Value)
	}
	wanted := file
	if plain, err := url.PathUnescape(where); err == nil && where != "" {
		wanted = filepath.ToSlash(filepath.Join(filepath.Dir(file), plain))
	}
	content, err := j.open(wanted, reference)
	if err != nil {
		return err
	}
	if wanted == filepath.Base(j.document.Path) {
		reference.Value = "#" + pointer
		j.changed = true
		return nil
	}
	found := resolve(content, pointer)
	if found == nil {
		return j.document.mistake(reference, "$ref %q leads to nothing: %s has no %s", reference.Value, wanted, pointer)
	}
	j.changed = true
	if isSchemaPlace(name) || strings.Contains(pointer, "/schemas/") {
		return j.component(reference, found, wanted, pointer, depth)
	}
	copied := j.own(found, wanted)
	if err := j.walk(copied, wanted, name, depth+1); err != nil {
		return err
	}
	node.Kind, node.Tag, node.Content, node.Style = copied.Kind, copied.Tag, copied.Content, copied.Style
	return nil
}

// isSchemaPlace reports whether a member is, or has, schemas.
func isSchemaPlace(name string) bool {
	places := []string{"schema", "schemas/", "items", "properties/", "additionalProperties", "not", "allOf", "anyOf", "oneOf", "$defs/"}
	return slices.Contains(places, name)
}

// component makes a schema of another file a component, once.
func (j *joiner) component(reference, found *yaml.Node, file, pointer string, depth int) error {
	key := file + "#" + pointer
	name, isKnown := j.names[key]
	if !isKnown {
		name = j.freeName(file, pointer)
		j.names[key] = name
		copied := j.own(found, file)
		set(j.document.component("schemas"), name, copied)
		if err := j.walk(copied, file, "schema", depth+1); err != nil {
			return err
		}
	}
	reference.Value = "#/components/schemas/" + name
	return nil
}

// freeName returns a name for a schema of a file that no other one has.
func (j *joiner) freeName(file, pointer string) string {
	last := unescape(pointer[strings.LastIndex(pointer, "/")+1:])
	if last == "" {
		last = strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	}
	isOdd := func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-", r)
	}
	name := strings.Join(strings.FieldsFunc(last, isOdd), "_")
	for free, i := name, 2; ; free, i = name+strconv.Itoa(i), i+1 {
		if find(j.document.component("schemas"), free) == nil {
			return free
		}
	}
}

// own copies a node of a file, and remembers for messages where it is from.
func (j *joiner) own(node *yaml.Node, file string) *yaml.Node {
	copied := clone(node)
	var mark func(*yaml.Node)
	mark = func(node *yaml.Node) {
		j.document.origin[node] = filepath.Join(filepath.Dir(j.document.Path), file)
		for _, below := range node.Content {
			mark(below)
		}
	}
	mark(copied)
	return copied
}

// open reads a file in the folder of the document.
func (j *joiner) open(name string, reference *yaml.Node) (*yaml.Node, error) {
	if known := j.files[name]; known != nil {
		return known, nil
	}
	info, err := j.folder.Lstat(filepath.FromSlash(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, j.document.mistake(reference, "$ref %q leads to nothing: there is no file %s beside the document", reference.Value, name)
	}
	if err != nil || !info.Mode().IsRegular() {
		return nil, j.document.mistake(reference, "$ref %q is not read: only files in the folder of the document are, and no symbolic links", reference.Value)
	}
	content, err := j.folder.ReadFile(filepath.FromSlash(name))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	j.files[name], err = parse(filepath.Join(filepath.Dir(j.document.Path), name), content)
	return j.files[name], err
}

func unescape(part string) string {
	if plain, err := url.PathUnescape(part); err == nil {
		part = plain
	}
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
}

func itemAt(node *yaml.Node, index string) *yaml.Node {
	i, err := strconv.Atoi(index)
	if err != nil || i < 0 || i >= len(node.Content) {
		return nil
	}
	return target(node.Content[i])
}
