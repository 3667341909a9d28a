// Package schema makes the JSON Schema of configuration files, by which editors complete and check them:
// configs/schema.json, embedded in package configs and printed by `stoker train --schema`. It is made from the code:
// keys from the structs, descriptions from their comments, bounds from their tags (package bounds), choices and
// defaults from the catalog. After a change of a configuration:
//
//	go test ./catalog/schema -update
//
// [Of] adds the rows of a program's own catalog to it as the program runs. Nothing that serves or trains imports this
// package.
package schema
