package mongo

import (
	"context"
	"iter"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pkg/errors"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/history/schema"
)

// A table is a collection, a row a document. Its _id is the primary key: the value of the only
// column, or a document of the columns. All other columns are fields of the document. A text is a
// string, which MongoDB compares by its bytes; a null is a null.

// changes is a field that counts the changes of a document. For MongoDB an update that leaves a
// document unchanged is not a write and conflicts with nothing.
const changes = "_changes"

// loadTimeout bounds creating tables with their rows.
const loadTimeout = 10 * time.Minute

// path is the name of a column in statements.
func path(t *schema.Table, column string) string {
	switch g, _, _ := t.Column(column); {
	case g >= 0:
		return column
	case len(t.Key) == 1:
		return "_id"
	}
	return "_id." + column
}

// identity is the _id of a row.
func identity(t *schema.Table, key []any) bson.D {
	if len(t.Key) == 1 {
		return bson.D{{Key: "_id", Value: key[0]}}
	}
	id := bson.D{}
	for i, c := range t.Key {
		id = append(id, bson.E{Key: c.Name, Value: key[i]})
	}
	return bson.D{{Key: "_id", Value: id}}
}

// document is the document of a row.
func document(t *schema.Table, row schema.Row) bson.D {
	doc := identity(t, row.Key)
	for g := range t.Groups {
		for i, c := range t.Groups[g].Columns {
			doc = append(doc, bson.E{Key: c.Name, Value: row.Groups[g][i]})
		}
	}
	return append(doc, bson.E{Key: changes, Value: int64(0)})
}

// row is the inverse of document, with some groups.
func row(t *schema.Table, doc bson.Raw, groups []int) (schema.Row, error) {
	out := schema.Row{Key: make([]any, len(t.Key)), Groups: make([][]any, len(t.Groups))}
	var err error
	for i, c := range t.Key {
		if out.Key[i], err = value(c, doc.Lookup(strings.Split(path(t, c.Name), ".")...)); err != nil {
			return out, err
		}
	}
	for _, g := range groups {
		out.Groups[g] = make([]any, len(t.Groups[g].Columns))
		for i, c := range t.Groups[g].Columns {
			if out.Groups[g][i], err = value(c, doc.Lookup(c.Name)); err != nil {
				return out, err
			}
		}
	}
	return out, nil
}

func value(c schema.Column, v bson.RawValue) (any, error) {
	if text, ok := v.StringValueOK(); ok && c.Type == schema.Text {
		return text, nil
	}
	if n, ok := v.Int64OK(); ok && c.Type == schema.Int {
		return n, nil
	}
	if v.Type == bson.TypeNull && c.Null {
		return nil, nil
	}
	return nil, &drivers.Error{Class: drivers.Fatal, Cause: "foreign document", Err: errors.Errorf("column %s is %s", c.Name, v)}
}

// filter spells conditions. Comparisons other than $ne and $nin match values of the constant's type
// only, so that no null fulfils them.
func filter(t *schema.Table, where []schema.Condition) bson.D {
	all := bson.A{}
	for _, c := range where {
		list := bson.A(c.Constants())
		var test any
		switch c.Op {
		case "=":
			test = bson.D{{Key: "$eq", Value: c.Value}}
		case "<>":
			test = bson.D{{Key: "$nin", Value: bson.A{c.Value, nil}}}
		case "<":
			test = bson.D{{Key: "$lt", Value: c.Value}}
		case "<=":
			test = bson.D{{Key: "$lte", Value: c.Value}}
		case ">":
			test = bson.D{{Key: "$gt", Value: c.Value}}
		case ">=":
			test = bson.D{{Key: "$gte", Value: c.Value}}
		case "in":
			test = bson.D{{Key: "$in", Value: append(bson.A{}, list...)}}
		case "between":
			test = bson.D{{Key: "$gte", Value: list[0]}, {Key: "$lte", Value: list[1]}}
		case "like-prefix":
			test = bson.Regex{Pattern: "^" + regexp.QuoteMeta(c.Value.(string))}
		case "is-null":
			test = bson.D{{Key: "$eq", Value: nil}}
		case "is-not-null":
			test = bson.D{{Key: "$ne", Value: nil}}
		}
		all = append(all, bson.D{{Key: path(t, c.Column), Value: test}})
	}
	if len(all) == 0 {
		return bson.D{}
	}
	return bson.D{{Key: "$and", Value: all}}
}

// order spells the order of a predicate, ties by the primary key.
func order(t *schema.Table, p schema.Predicate) bson.D {
	out := bson.D{}
	add := func(column string, direction int) {
		name := path(t, column)
		if !slices.ContainsFunc(out, func(e bson.E) bool { return e.Key == name }) {
			out = append(out, bson.E{Key: name, Value: direction})
		}
	}
	for _, name := range p.Order {
		if column, down := strings.CutPrefix(name, "-"); down {
			add(column, -1)
		} else {
			add(column, 1)
		}
	}
	for _, c := range t.Key {
		add(c.Name, 1)
	}
	return out
}

// update is a pipeline that sets a group, because only pipelines compute with nulls (manual,
// "Updates with Aggregation Pipeline").
func update(t *schema.Table, group int, exprs []schema.Expr) bson.A {
	literal := func(v any) bson.D { return bson.D{{Key: "$literal", Value: v}} }
	set := bson.D{{Key: changes, Value: bson.D{{Key: "$add", Value: bson.A{"$" + changes, literal(int64(1))}}}}}
	for i, c := range t.Groups[group].Columns {
		next := literal(exprs[i].Value)
		switch exprs[i].Kind {
		case schema.Plus:
			next = bson.D{{Key: "$add", Value: bson.A{"$" + c.Name, next}}}
		case schema.Suffix:
			next = bson.D{{Key: "$concat", Value: bson.A{"$" + c.Name, next}}}
		}
		set = append(set, bson.E{Key: c.Name, Value: next})
	}
	return bson.A{bson.D{{Key: "$set", Value: set}}}
}

// CreateTables implements drivers.TableDB.
func (d *db) CreateTables(ctx context.Context, tables schema.Schema, rows iter.Seq2[*schema.Table, schema.Row]) error {
	if err := (driver{}).Info().CheckIndexes(tables); err != nil {
		return err
	}
	err := d.admin(ctx, loadTimeout, func(ctx context.Context, c *mongo.Client) error {
		return d.inSession(ctx, c, func(ctx context.Context) error { return d.createTables(ctx, c, tables, rows) })
	})
	if err != nil {
		return &drivers.UnreachableError{Driver: "mongo", Err: errors.Wrap(err, "creating tables in "+d.name)}
	}
	return nil
}

func (d *db) createTables(ctx context.Context, c *mongo.Client, tables schema.Schema, rows iter.Seq2[*schema.Table, schema.Row]) error {
	data := c.Database(d.name, options.Database().SetWriteConcern(writeconcern.Majority()))
	d.created = true // from here on there may be something to drop
	for _, t := range tables {
		if err := data.CreateCollection(ctx, t.Name); err != nil {
			return errors.Wrap(err, "table "+t.Name)
		}
		for _, index := range t.Indexes {
			keys := bson.D{}
			for _, column := range index.Columns {
				keys = append(keys, bson.E{Key: path(t, column), Value: 1})
			}
			if _, err := data.Collection(t.Name).Indexes().CreateOne(ctx, mongo.IndexModel{Keys: keys}); err != nil {
				return errors.Wrap(err, "an index of table "+t.Name)
			}
		}
	}
	pending := map[*schema.Table][]any{}
	flush := func(t *schema.Table) error {
		if len(pending[t]) == 0 {
			return nil
		}
		_, err := data.Collection(t.Name).InsertMany(ctx, pending[t])
		pending[t] = nil
		return errors.Wrap(err, "rows of table "+t.Name)
	}
	for t, r := range rows {
		if pending[t] = append(pending[t], document(t, r)); len(pending[t]) == perInsert {
			if err := flush(t); err != nil {
				return err
			}
		}
	}
	for t := range pending {
		if err := flush(t); err != nil {
			return err
		}
	}
	return nil
}

func (x *tx) collection(t *schema.Table) *mongo.Collection {
	return x.client.Database(x.db.name).Collection(t.Name)
}

// Get implements drivers.TableTx.
func (x *tx) Get(ctx context.Context, t *schema.Table, key []any, groups []int) (schema.Row, bool, error) {
	doc, err := x.collection(t).FindOne(x.in(ctx), identity(t, key)).Raw()
	if errors.Is(err, mongo.ErrNoDocuments) {
		return schema.Row{}, false, nil
	}
	if err != nil {
		return schema.Row{}, false, statementError(err)
	}
	out, err := row(t, doc, groups)
	return out, err == nil, err
}

// InsertRow implements drivers.TableTx.
func (x *tx) InsertRow(ctx context.Context, t *schema.Table, r schema.Row) error {
	_, err := x.collection(t).InsertOne(x.in(ctx), document(t, r))
	x.wrote(err == nil)
	return statementError(err)
}

// Set implements drivers.TableTx with findAndModify, which returns what it left.
func (x *tx) Set(ctx context.Context, t *schema.Table, key []any, group int, exprs []schema.Expr) ([]any, bool, error) {
	if _, err := schema.Depends(exprs); err != nil {
		return nil, false, err
	}
	doc, err := x.collection(t).FindOneAndUpdate(x.in(ctx), identity(t, key), update(t, group, exprs),
		options.FindOneAndUpdate().SetReturnDocument(options.After)).Raw()
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, statementError(err)
	}
	x.wrote(true)
	out, err := row(t, doc, []int{group})
	return out.Groups[group], err == nil, err
}

// Upsert implements drivers.TableTx with an update, and with an insertion if it found no row. A row
// that somebody else has inserted since fails the insertion.
func (x *tx) Upsert(ctx context.Context, t *schema.Table, r schema.Row, exprs []schema.Expr) ([]any, bool, error) {
	after, found, err := x.Set(ctx, t, r.Key, 0, exprs)
	if err != nil || found {
		return after, false, err
	}
	return r.Groups[0], true, x.InsertRow(ctx, t, r)
}

// DeleteRow implements drivers.TableTx.
func (x *tx) DeleteRow(ctx context.Context, t *schema.Table, key []any) (bool, error) {
	res, err := x.collection(t).DeleteOne(x.in(ctx), identity(t, key))
	if err != nil {
		return false, statementError(err)
	}
	return x.wrote(res.DeletedCount > 0), nil
}

// Scan implements drivers.TableTx. MongoDB only sorts if the predicate has an order or a limit.
func (x *tx) Scan(ctx context.Context, t *schema.Table, p schema.Predicate, groups []int) ([]schema.Row, error) {
	opts := options.Find()
	sorted := len(p.Order) > 0 || p.Limit > 0
	if sorted {
		opts.SetSort(order(t, p)).SetLimit(int64(p.Limit))
	}
	found, err := x.collection(t).Find(x.in(ctx), filter(t, p.Where), opts)
	if err != nil {
		return nil, statementError(err)
	}
	var docs []bson.Raw
	if err := found.All(x.in(ctx), &docs); err != nil {
		return nil, statementError(err)
	}
	var rows []schema.Row
	for _, doc := range docs {
		r, err := row(t, doc, groups)
		if err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	if !sorted {
		rows = p.Arrange(t, rows)
	}
	return rows, nil
}

// CountWhere implements drivers.TableTx with an aggregation, because transactions have no count
// command (manual, "Operations in Transactions").
func (x *tx) CountWhere(ctx context.Context, t *schema.Table, where []schema.Condition) (int, error) {
	n, err := x.collection(t).CountDocuments(x.in(ctx), filter(t, where))
	return int(n), statementError(err)
}

// MongoDB's updateMany and deleteMany return how many documents they changed, but not which. SetWhere
// and DeleteWhere find the rows and change each by its _id. All of them see the transaction's
// snapshot. If another transaction has changed a row since, the change fails with a write conflict.

// errVanished: a row that the transaction has found is not there any more.
var errVanished = &drivers.Error{Class: drivers.Aborted, Cause: "a row of the snapshot vanished"}

// SetWhere implements drivers.TableTx.
func (x *tx) SetWhere(ctx context.Context, t *schema.Table, where []schema.Condition, group int, exprs []schema.Expr) ([]schema.Row, error) {
	rows, err := x.Scan(ctx, t, schema.Where(where...), nil)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		after, found, err := x.Set(ctx, t, rows[i].Key, group, exprs)
		if err != nil {
			return nil, err
		}
		if !found {
			return nil, errVanished
		}
		rows[i].Groups[group] = after
	}
	return rows, nil
}

// DeleteWhere implements drivers.TableTx.
func (x *tx) DeleteWhere(ctx context.Context, t *schema.Table, where []schema.Condition) ([][]any, error) {
	rows, err := x.Scan(ctx, t, schema.Where(where...), nil)
	if err != nil {
		return nil, err
	}
	keys := make([][]any, len(rows))
	for i := range rows {
		keys[i] = rows[i].Key
		found, err := x.DeleteRow(ctx, t, keys[i])
		if err != nil {
			return nil, err
		}
		if !found {
			return nil, errVanished
		}
	}
	return keys, nil
}
