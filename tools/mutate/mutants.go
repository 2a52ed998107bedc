package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"
)

// mutant is one small change of the code under test.
type mutant struct {
	id     int
	name   string // without line numbers, so that an earlier -out file knows it
	pos    token.Position
	file   string // from the module's directory
	fn     string
	text   string // what stands in the place of the original
	lone   []byte // the whole file with only this change, for what cannot be switched at run time
	status string
}

// function is what the list of equivalents counts the mutant under.
func (m *mutant) function() string { return m.file + " " + m.fn }

func (m *mutant) String() string {
	return fmt.Sprintf("%s: %s (%s:%d:%d)", m.status, m.name, m.file, m.pos.Line, m.pos.Column)
}

// site is an expression or a statement that has mutants.
type site struct {
	start, end int
	typ        string // of an expression; "" is a statement
	mutants    []*mutant
}

// file is a source file in the making: every mutant is in it, and the variable mutantID chooses.
type file struct {
	path  string
	name  string // from the module's directory
	src   []byte
	sites []*site
	ends  []int // of functions with results, where a removed return may lead
}

type collector struct {
	pkg     *packages.Package
	skip    *regexp.Regexp
	file    *file
	imports map[string]string // by path: the name in this file
	fn      string
	seen    map[string]int
	all     []*mutant
}

// collect finds the mutants of those files of a package that are asked for.
func collect(
	dir string, pkg *packages.Package, only, skip *regexp.Regexp,
) ([]*file, []*mutant, error) {
	root, err := filepath.Abs(dir)
	if err != nil {
		return nil, nil, err
	}
	c := &collector{pkg: pkg, skip: skip, seen: map[string]int{}}
	var files []*file
	for i, tree := range pkg.Syntax {
		path := pkg.CompiledGoFiles[i]
		if !only.MatchString(filepath.Base(path)) {
			continue
		}
		src, err := readFile(path)
		if err != nil {
			return nil, nil, err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return nil, nil, err
		}
		c.file = &file{path: path, name: filepath.ToSlash(name), src: src}
		c.imports = map[string]string{}
		for _, imported := range tree.Imports {
			target, _ := strconv.Unquote(imported.Path.Value)
			if p := pkg.Imports[target]; p != nil {
				c.imports[p.PkgPath] = p.Name
			}
		}
		files = append(files, c.file)
		for _, decl := range tree.Decls {
			c.decl(decl)
		}
	}
	return files, c.all, nil
}

func (c *collector) decl(decl ast.Decl) {
	c.fn = "var"
	switch d := decl.(type) {
	case *ast.FuncDecl:
		c.fn = d.Name.Name
		if d.Recv != nil {
			receiver := c.text(d.Recv.List[0].Type)
			c.fn = strings.TrimPrefix(receiver, "*") + "." + c.fn
		}
		if c.skip.MatchString(c.fn) || d.Body == nil {
			return
		}
		c.walk(d)
	case *ast.GenDecl:
		switch d.Tok {
		case token.CONST:
			c.fn = "const"
			c.constants(d)
		case token.VAR:
			c.walk(d)
		}
	}
}

func (c *collector) offset(p token.Pos) int { return c.pkg.Fset.Position(p).Offset }

func (c *collector) text(n ast.Node) string {
	return string(c.file.src[c.offset(n.Pos()):c.offset(n.End())])
}

var space = regexp.MustCompile(`\s+`)

// mutant notes one, whose name is what is replaced and how.
func (c *collector) mutant(n ast.Node, how, text string) *mutant {
	what := space.ReplaceAllString(c.text(n), " ")
	if runes := []rune(what); len(runes) > 100 {
		what = string(runes[:100]) + "…"
	}
	name := fmt.Sprintf("%s %s: %s => %s", c.file.name, c.fn, what, how)
	c.seen[name]++
	if k := c.seen[name]; k > 1 {
		name += " #" + strconv.Itoa(k)
	}
	m := &mutant{
		id: len(c.all) + 1, name: name, pos: c.pkg.Fset.Position(n.Pos()),
		file: c.file.name, fn: c.fn, text: text,
	}
	c.all = append(c.all, m)
	return m
}

// constants changes what no variable can: declared constants, each by a file of its own.
func (c *collector) constants(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		for _, value := range spec.(*ast.ValueSpec).Values {
			iota := false
			ast.Inspect(value, func(n ast.Node) bool {
				id, ok := n.(*ast.Ident)
				iota = iota || ok && id.Name == "iota"
				return true
			})
			tv := c.pkg.TypesInfo.Types[value]
			if iota || tv.Value == nil || tv.Value.Kind() != constant.Int {
				continue
			}
			for _, by := range []string{"+ 1", "- 1"} {
				m := c.mutant(value, strings.ReplaceAll(by, " ", ""), "")
				m.lone = slices.Concat(c.file.src[:c.offset(value.Pos())],
					[]byte("("+c.text(value)+") "+by), c.file.src[c.offset(value.End()):])
			}
		}
	}
}

// typeName writes a type as this file would, or "".
func (c *collector) typeName(t types.Type) string {
	ok := true
	name := types.TypeString(t, func(p *types.Package) string {
		if p == c.pkg.Types {
			return ""
		}
		name := c.imports[p.Path()]
		ok = ok && name != ""
		return name
	})
	if !ok {
		return ""
	}
	return strings.TrimPrefix(name, "untyped ")
}

type variant struct{ how, text string }

func (c *collector) site(n ast.Node, typ string, variants []variant) {
	if len(variants) == 0 {
		return
	}
	s := &site{start: c.offset(n.Pos()), end: c.offset(n.End()), typ: typ}
	alone := typ != "" && c.recovers(n)
	for _, v := range variants {
		m := c.mutant(n, v.how, v.text)
		s.mutants = append(s.mutants, m)
		if alone {
			m.lone = slices.Concat(c.file.src[:s.start],
				[]byte("("+v.text+")"), c.file.src[s.end:])
		}
	}
	if !alone {
		c.file.sites = append(c.file.sites, s)
	}
}

// recovers reports whether an expression calls recover, which stops no panic in a function around
// it: recover() != nil is not to become func() bool { return recover() != nil }().
func (c *collector) recovers(n ast.Node) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			found = found || c.pkg.TypesInfo.Uses[id] == types.Universe.Lookup("recover")
		}
		_, other := n.(*ast.FuncLit)
		return !other && !found
	})
	return found
}

// walk visits what can be switched at run time, outer nodes first.
func (c *collector) walk(root ast.Node) {
	conditions := map[ast.Expr]string{}  // whether an expression decides on a branch, or on a loop
	lists := map[ast.Stmt]bool{}         // statements that stand in a list, and may be removed
	results := map[ast.Expr]types.Type{} // as the function declares them
	left := map[ast.Expr]bool{}          // not values
	loops := map[*ast.BranchStmt]bool{}
	ast.Inspect(root, func(n ast.Node) bool {
		list := func(stmts []ast.Stmt) {
			for _, s := range stmts {
				lists[s] = true
			}
		}
		switch n := n.(type) {
		case *ast.FuncDecl:
			c.results(n.Type, n.Body, results)
		case *ast.FuncLit:
			c.results(n.Type, n.Body, results)
		case *ast.ArrayType:
			return false
		case *ast.GenDecl:
			if n.Tok != token.VAR {
				return false
			}
		case *ast.BlockStmt:
			list(n.List)
		case *ast.CaseClause:
			list(n.Body)
		case *ast.IfStmt:
			conditions[n.Cond] = "if"
		case *ast.ForStmt:
			if n.Cond != nil {
				conditions[n.Cond] = "for"
			}
			inLoop(n.Body, loops)
		case *ast.RangeStmt:
			inLoop(n.Body, loops)
		case *ast.SwitchStmt:
			if n.Tag == nil {
				for _, clause := range n.Body.List {
					for _, e := range clause.(*ast.CaseClause).List {
						conditions[e] = "if"
					}
				}
			}
		case *ast.KeyValueExpr:
			left[n.Key] = true
		case *ast.AssignStmt:
			for _, e := range n.Lhs {
				left[e] = true
			}
		}
		switch n := n.(type) {
		case ast.Stmt:
			c.statement(n, lists[n], loops)
		case ast.Expr:
			if left[n] {
				if _, constant := n.(*ast.Ident); constant {
					return false
				}
				if tv := c.pkg.TypesInfo.Types[n]; tv.Value != nil || tv.Type == nil {
					return false
				}
				return true
			}
			return c.expression(n, conditions[n], results[n])
		}
		return true
	})
}

// results notes where a function with results ends, and what it returns where.
func (c *collector) results(
	t *ast.FuncType, body *ast.BlockStmt, results map[ast.Expr]types.Type,
) {
	if t.Results == nil {
		return
	}
	c.file.ends = append(c.file.ends, c.offset(body.Rbrace))
	var declared []types.Type
	for _, field := range t.Results.List {
		for range max(1, len(field.Names)) {
			declared = append(declared, c.pkg.TypesInfo.TypeOf(field.Type))
		}
	}
	ast.Inspect(body, func(n ast.Node) bool {
		if r, ok := n.(*ast.ReturnStmt); ok && len(r.Results) == len(declared) {
			for i, e := range r.Results {
				results[e] = declared[i]
			}
		}
		_, other := n.(*ast.FuncLit)
		return !other
	})
}

// inLoop marks the branch statements that may be either.
func inLoop(body ast.Node, loops map[*ast.BranchStmt]bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		if _, other := n.(*ast.FuncLit); other {
			return false
		}
		if b, ok := n.(*ast.BranchStmt); ok && b.Label == nil {
			loops[b] = true
		}
		return true
	})
}

var assignments = map[token.Token]string{
	token.ADD_ASSIGN: "-=", token.SUB_ASSIGN: "+=", token.MUL_ASSIGN: "+=",
	token.OR_ASSIGN: "&=", token.AND_ASSIGN: "|=",
	token.XOR_ASSIGN: "|=", token.SHL_ASSIGN: ">>=", token.SHR_ASSIGN: "<<=",
}

func (c *collector) statement(n ast.Stmt, listed bool, loops map[*ast.BranchStmt]bool) {
	if !listed {
		return
	}
	removed := variant{"removed", ""}
	var variants []variant
	switch n := n.(type) {
	case *ast.ExprStmt, *ast.DeferStmt:
		variants = append(variants, removed)
	case *ast.ReturnStmt:
		variants = append(variants, removed)
	case *ast.AssignStmt:
		if n.Tok == token.DEFINE {
			return
		}
		variants = append(variants, removed)
		if other := assignments[n.Tok]; other != "" && !isString(c.pkg.TypesInfo.TypeOf(n.Lhs[0])) {
			variants = append(variants, variant{other, c.text(n.Lhs[0]) + other + c.text(n.Rhs[0])})
		}
	case *ast.IncDecStmt:
		other := "--"
		if n.Tok == token.DEC {
			other = "++"
		}
		variants = append(variants, removed, variant{other, c.text(n.X) + other})
	case *ast.BranchStmt:
		if !loops[n] {
			return
		}
		switch n.Tok {
		case token.BREAK:
			variants = append(variants, variant{"continue", "continue"})
		case token.CONTINUE:
			variants = append(variants, variant{"break", "break"}, removed)
		}
	}
	c.site(n, "", variants)
}

func isString(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsString != 0
}

var (
	boundaries = map[token.Token]string{
		token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">",
	}
	negations = map[token.Token]string{
		token.LSS: ">=", token.LEQ: ">", token.GTR: "<=", token.GEQ: "<",
		token.EQL: "!=", token.NEQ: "==",
	}
	operators = map[token.Token]string{
		token.ADD: "-", token.SUB: "+", token.MUL: "+", token.QUO: "*", token.REM: "*",
		token.AND: "|", token.OR: "&", token.XOR: "|", token.AND_NOT: "&",
		token.SHL: ">>", token.SHR: "<<",
		token.LAND: "||", token.LOR: "&&",
	}
)

// expression finds the mutants of one, and reports whether to look into it.
func (c *collector) expression(n ast.Expr, condition string, result types.Type) bool {
	tv, ok := c.pkg.TypesInfo.Types[n]
	if !ok || tv.IsType() {
		_, paren := n.(*ast.ParenExpr)
		return ok && !tv.IsType() || paren || !ok
	}
	typ := ""
	if tv.Type != nil {
		typ = c.typeName(tv.Type)
	}
	if tv.Value != nil {
		c.constant(n, tv, typ)
		return false
	}
	if _, paren := n.(*ast.ParenExpr); paren || typ == "" || !tv.IsValue() {
		return true
	}
	var variants []variant
	add := func(how, text string) { variants = append(variants, variant{how, text}) }
	basic, _ := tv.Type.Underlying().(*types.Basic)
	boolean := basic != nil && basic.Info()&types.IsBoolean != 0
	if condition != "" {
		if condition == "if" {
			add("true", "true")
		}
		add("false", "false")
	}
	if b, ok := n.(*ast.BinaryExpr); ok {
		x, y := "("+c.text(b.X)+")", "("+c.text(b.Y)+")"
		if other := boundaries[b.Op]; other != "" {
			add(other, x+other+y)
		}
		if other := negations[b.Op]; other != "" && condition == "" {
			add(other, x+other+y)
		}
		if b.Op == token.LAND || b.Op == token.LOR {
			add("right only", y)
			add("left only", x)
		}
		if other := operators[b.Op]; other != "" && !isString(tv.Type) {
			add(other, x+other+y)
		}
	} else if result != nil && condition == "" {
		// A pointer that is returned as an error becomes no error, not a nil pointer in one.
		if name := c.typeName(result); name != "" && types.IsInterface(result) {
			typ = name
		}
		switch t := tv.Type.Underlying().(type) {
		case *types.Basic:
			switch {
			case boolean:
				add("true", "true")
				add("false", "false")
			case t.Info()&types.IsInteger != 0:
				add("0", "0")
			case t.Info()&types.IsString != 0:
				add(`""`, `""`)
			}
		case *types.Slice, *types.Pointer:
			add("nil", "nil")
		case *types.Interface:
			if _, parameter := tv.Type.(*types.TypeParam); !parameter {
				add("nil", "nil")
			}
		}
	}
	c.site(n, typ, variants)
	return true
}

// constant changes an integer by one and a bool to the other. A declared constant is changed where
// it is declared.
func (c *collector) constant(n ast.Expr, tv types.TypeAndValue, typ string) {
	basic, ok := tv.Type.Underlying().(*types.Basic)
	if !ok || typ == "" || basic.Kind() == types.UntypedNil {
		return
	}
	if tv.Value.Kind() == constant.Bool {
		other := strconv.FormatBool(!constant.BoolVal(tv.Value))
		c.site(n, typ, []variant{{other, other}})
		return
	}
	if tv.Value.Kind() != constant.Int || basic.Info()&types.IsInteger == 0 {
		return
	}
	switch n.(type) {
	case *ast.Ident, *ast.SelectorExpr:
		return
	}
	var variants []variant
	for _, by := range []int64{1, -1} {
		value := constant.BinaryOp(tv.Value, token.ADD, constant.MakeInt64(by))
		if !fits(value, basic) {
			continue
		}
		variants = append(variants, variant{fmt.Sprintf("%+d", by), value.ExactString()})
	}
	c.site(n, typ, variants)
}

func fits(v constant.Value, b *types.Basic) bool {
	if b.Info()&types.IsUnsigned != 0 {
		n, ok := constant.Uint64Val(v)
		most := map[types.BasicKind]uint64{
			types.Uint8: math.MaxUint8, types.Uint16: math.MaxUint16, types.Uint32: math.MaxUint32,
		}[b.Kind()]
		return ok && constant.Sign(v) >= 0 && (most == 0 || n <= most)
	}
	n, ok := constant.Int64Val(v)
	narrow := b.Kind() == types.Int32 || b.Kind() == types.UntypedRune
	return ok && (!narrow || math.MinInt32 <= n && n <= math.MaxInt32)
}

// render writes a file with all its mutants, to be chosen by mutantID.
func (f *file) render() []byte {
	slices.SortStableFunc(f.sites, func(a, b *site) int {
		if a.start != b.start {
			return a.start - b.start
		}
		return b.end - a.end
	})
	ends := slices.Clone(f.ends)
	slices.Sort(ends)
	var out strings.Builder
	at := 0
	next := 0
	copyTo := func(end int) {
		for len(ends) > 0 && ends[0] < end {
			out.Write(f.src[at:ends[0]])
			at = ends[0]
			ends = ends[1:]
			out.WriteString(";panic(\"a removed return\")")
		}
		out.Write(f.src[at:end])
		at = end
	}
	var upTo func(end int)
	upTo = func(end int) {
		for next < len(f.sites) && f.sites[next].start < end {
			s := f.sites[next]
			next++
			copyTo(s.start)
			if s.typ == "" {
				for _, m := range s.mutants {
					fmt.Fprintf(&out, "if mutantID == %d { %s } else ", m.id, m.text)
				}
				out.WriteString("{ ")
				upTo(s.end)
				out.WriteString(" }")
				continue
			}
			fmt.Fprintf(&out, "func() %s { switch mutantID { ", s.typ)
			for _, m := range s.mutants {
				fmt.Fprintf(&out, "case %d: return %s; ", m.id, m.text)
			}
			out.WriteString("}; return ")
			upTo(s.end)
			out.WriteString(" }()")
		}
		copyTo(end)
	}
	upTo(len(f.src))
	return []byte(out.String())
}
