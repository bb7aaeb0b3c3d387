package servertest

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"
)

// Call is what a call of the API takes, as its description says.
type Call struct {
	Query []string // the names of its query parameters, sorted
	Body  Fields   // of the JSON that it takes
}

// Fields are the names in a JSON object, each with those in the objects below it. Nil takes any name.
type Fields map[string]Fields

// Calls returns every call of the API by its method and route, such as "GET /api/v1/playlists/:id". The description is
// read once. Safe for concurrent use; what is returned must not be changed.
var Calls = sync.OnceValue(func() map[string]Call {
	var d described
	if err := yaml.Unmarshal(APIText(), &d); err != nil {
		panic(fmt.Sprintf("the description of the API cannot be read: %v", err))
	}
	calls := map[string]Call{}
	for path, all := range d.Paths {
		shared := d.query(all.Parameters)
		for method, o := range map[string]*operation{http.MethodGet: all.Get, http.MethodPost: all.Post,
			http.MethodPut: all.Put, http.MethodPatch: all.Patch, http.MethodDelete: all.Delete} {
			if o == nil {
				continue
			}
			one := Call{Query: slices.Concat(shared, d.query(o.Parameters))}
			slices.Sort(one.Query)
			if json, ok := o.RequestBody.Content["application/json"]; ok {
				one.Body = d.fields(json.Schema)
			}
			calls[method+" /api/v1"+inBraces.ReplaceAllString(path, ":$1")] = one
		}
	}
	return calls
})

var inBraces = regexp.MustCompile(`\{(\w+)\}`)

// described is the part of the description that says what calls take.
type described struct {
	Paths      map[string]operations
	Components struct {
		Parameters map[string]parameter
		Schemas    map[string]schema
	}
}

// operations are the operations of a path. Each method has a field, because parsing them from a map would parse their
// text twice.
type operations struct {
	Parameters                    []parameter // of all operations
	Get, Post, Put, Patch, Delete *operation
}

type operation struct {
	Parameters  []parameter
	RequestBody struct {
		Content map[string]struct{ Schema schema }
	} `yaml:"requestBody"`
}

type parameter struct {
	Ref  string `yaml:"$ref"`
	Name string
	In   string
}

type schema struct {
	Ref        string   `yaml:"$ref"`
	AllOf      []schema `yaml:"allOf"`
	Properties map[string]schema
	Items      *schema
}

// query returns the names of the parameters in a query.
func (d *described) query(all []parameter) (names []string) {
	for _, p := range all {
		if p.Ref != "" {
			p = d.Components.Parameters[p.Ref[strings.LastIndex(p.Ref, "/")+1:]]
		}
		if p.In == "query" {
			names = append(names, p.Name)
		}
	}
	return names
}

// fields returns the names in an object, or in the objects of a list; nil if the description does not name them.
func (d *described) fields(s schema) Fields {
	if s.Ref != "" {
		s = d.Components.Schemas[s.Ref[strings.LastIndex(s.Ref, "/")+1:]]
	}
	if s.Items != nil {
		return d.fields(*s.Items)
	}
	var all Fields
	for _, part := range s.AllOf {
		if all == nil {
			all = Fields{}
		}
		maps.Copy(all, d.fields(part))
	}
	for name, part := range s.Properties {
		if all == nil {
			all = Fields{}
		}
		all[name] = d.fields(part)
	}
	return all
}
