package main

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	_ "modernc.org/sqlite"

	"github.com/untrusted-context/envelope"
)

// store keeps items in a SQLite file.
type store struct{ db *sql.DB }

// The index holds the terms of the contents, and not the contents again.
const tables = `
CREATE TABLE IF NOT EXISTS memories (
	id       INTEGER PRIMARY KEY,
	scope    TEXT NOT NULL,
	kind     TEXT NOT NULL,
	citation TEXT NOT NULL,
	content  TEXT NOT NULL,
	UNIQUE (scope, kind, citation)
);
CREATE VIRTUAL TABLE IF NOT EXISTS terms USING fts5 (
	words, content = '', contentless_delete = 1, tokenize = 'porter unicode61'
);
`

func openStore(ctx context.Context, file string) (*store, error) {
	path, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	name := url.URL{
		Scheme: "file", Path: filepath.ToSlash(path),
		RawQuery: "_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_txlock=immediate",
	}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, err
	}
	if _, err := db.ExecContext(ctx, tables); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &store{db}, nil
}

func (s *store) Close() error { return s.db.Close() }

// load stores the items, one JSON object a line, all of them or none, and returns how many. An
// item with the kind and the citation of an earlier one takes its place.
func (s *store) load(ctx context.Context, scope string, in io.Reader) (n int, err error) {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback() // of what is not committed
	lines := bufio.NewReader(in)
	for number := 1; ; number++ {
		line, end := lines.ReadBytes('\n')
		if end != nil && end != io.EOF {
			return 0, end
		}
		if len(bytes.TrimSpace(line)) > 0 {
			item, err := readItem(line)
			if err == nil {
				err = put(ctx, tx, scope, item)
			}
			if err != nil {
				return 0, fmt.Errorf("line %d: %w", number, err)
			}
			n++
		}
		if end == io.EOF {
			return n, tx.Commit()
		}
	}
}

// readItem reads one object with the members kind, citation and content.
func readItem(line []byte) (envelope.Item, error) {
	item := envelope.Item{Kind: "memory"}
	members, err := readObject(line)
	if err != nil {
		return item, err
	}
	for name, value := range members {
		switch name {
		case "kind":
			err = readString(value, &item.Kind)
		case "content":
			err = readString(value, &item.Content)
		case "citation":
			var b bytes.Buffer
			err = json.Compact(&b, value)
			item.Citation = json.RawMessage(b.Bytes())
		default:
			err = errors.New("a member is none of kind, citation, content")
		}
		if err != nil {
			return item, err
		}
	}
	// What the renderer would not deliver is not stored.
	p, err := envelope.JSON{}.Render(
		[]envelope.Item{item},
		envelope.Budget{MaxBytes: envelope.Unlimited, MaxItemBytes: envelope.Unlimited},
	)
	switch {
	case err != nil:
		return item, err
	case p.Report.Err() != nil:
		return item, p.Report.Err()
	case !p.Ready():
		return item, errors.New(p.Report.Items[0].Outcome.String())
	}
	return item, nil
}

func put(ctx context.Context, tx *sql.Tx, scope string, item envelope.Item) error {
	var id int64
	err := tx.QueryRowContext(ctx, `
		INSERT INTO memories (scope, kind, citation, content) VALUES (?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET content = excluded.content RETURNING id`,
		scope, item.Kind, string(item.Citation.(json.RawMessage)), item.Content).Scan(&id)
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `DELETE FROM terms WHERE rowid = ?`, id); err != nil {
		return err
	}
	_, err = tx.ExecContext(
		ctx, `INSERT INTO terms (rowid, words) VALUES (?, ?)`, id,
		strings.Join(indexTerms(item.Content), " "),
	)
	return err
}

// The most candidates of a query, and the most of its terms that are looked for.
const (
	mostCandidates = 64
	mostTerms      = 64
)

// search returns the items of a scope that have a term of the query, the best first.
func (s *store) search(ctx context.Context, scope, query string) ([]envelope.Item, error) {
	match := matchTerms(query)
	if match == "" {
		return nil, nil
	}
	rows, err := s.db.QueryContext(ctx, `
		SELECT m.kind, m.citation, m.content FROM terms JOIN memories AS m ON m.id = terms.rowid
		WHERE terms MATCH ? AND m.scope = ? ORDER BY terms.rank, m.id LIMIT ?`,
		match, scope, mostCandidates)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var items []envelope.Item
	for rows.Next() {
		var item envelope.Item
		var citation string
		if err := rows.Scan(&item.Kind, &citation, &item.Content); err != nil {
			return nil, err
		}
		item.Citation = json.RawMessage(citation)
		items = append(items, item)
	}
	return items, rows.Err()
}

// indexTerms are the words of a text. A script without spaces has none to split at: each two
// neighbouring characters of it are a term, and the last is one of its own, so that every
// character is at the beginning of a term.
func indexTerms(text string) (terms []string) {
	for _, run := range runs(text) {
		if !spaceless(run) {
			terms = append(terms, string(run))
			continue
		}
		for i := range run {
			terms = append(terms, string(run[i:min(i+2, len(run))]))
		}
	}
	return terms
}

// matchTerms is the query for any of the terms in text. Each stands in quotes, so that none is an
// operator.
func matchTerms(text string) string {
	var terms []string
	seen := map[string]bool{}
	for _, run := range runs(text) {
		whole := len(terms)
		switch {
		case !spaceless(run):
			terms = append(terms, `"`+string(run)+`"`)
		case len(run) == 1:
			terms = append(terms, `"`+string(run)+`" *`)
		default:
			for i := range run[1:] {
				terms = append(terms, `"`+string(run[i:i+2])+`"`)
			}
		}
		fresh := terms[:whole]
		for _, term := range terms[whole:] {
			if !seen[term] {
				seen[term] = true
				fresh = append(fresh, term)
			}
		}
		if terms = fresh; len(terms) >= mostTerms {
			terms = terms[:mostTerms]
			break
		}
	}
	return strings.Join(terms, " OR ")
}

// runs are the stretches of letters, marks and digits in text, of a script with spaces or of
// those without.
func runs(text string) (all [][]rune) {
	var run []rune
	for _, r := range text {
		word := unicode.In(r, unicode.L, unicode.M, unicode.N)
		if len(run) > 0 && (!word || spaceless(run) != spaceless([]rune{r})) {
			all, run = append(all, run), nil
		}
		if word {
			run = append(run, r)
		}
	}
	if len(run) > 0 {
		all = append(all, run)
	}
	return all
}

func spaceless(run []rune) bool {
	return unicode.In(
		run[0], unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai,
		unicode.Lao, unicode.Khmer, unicode.Myanmar,
	)
}

var errScope = errors.New("a scope is 1 to 256 characters of text, not all of them blank")

func legalScope(scope string) bool {
	return utf8.ValidString(scope) && utf8.RuneCountInString(scope) <= 256 &&
		strings.TrimSpace(scope) != ""
}
