package cqltest

import (
	"encoding/binary"
	"regexp"

	"github.com/datastax/go-cassandra-native-protocol/datatype"
	"github.com/datastax/go-cassandra-native-protocol/message"
	"github.com/datastax/go-cassandra-native-protocol/primitive"
)

// The statements that the server understands, on tables with the name kv.
var (
	createKeyspace = regexp.MustCompile(`^CREATE KEYSPACE (\w+) WITH replication = \{'class': '\w+', '\w+': \d+\}$`)
	createTable    = regexp.MustCompile(`^CREATE TABLE (\w+)\.kv \(k blob PRIMARY KEY, v bigint\)$`)
	dropKeyspace   = regexp.MustCompile(`^DROP KEYSPACE (\w+)$`)
	insert         = regexp.MustCompile(`^INSERT INTO (\w+)\.kv \(k, v\) VALUES \(\?, \?\) IF NOT EXISTS$`)
	update         = regexp.MustCompile(`^UPDATE (\w+)\.kv SET v = \? WHERE k = \? IF v = \?$`)
	selectOne      = regexp.MustCompile(`^SELECT v FROM (\w+)\.kv WHERE k = \?$`)
	systemLocal    = regexp.MustCompile(`^SELECT (.*) FROM system\.local WHERE key='local'$`)
	systemPeers    = regexp.MustCompile(`^SELECT (.*) FROM system\.peers$`)
)

var parameters = map[*regexp.Regexp][]string{insert: {"k", "v"}, update: {"v", "k", "v"}, selectOne: {"k"}, systemLocal: nil, systemPeers: nil}

var kinds = map[string]datatype.DataType{"k": datatype.Blob, "v": datatype.Bigint, "[applied]": datatype.Boolean}

func columns(names ...string) (out []*message.ColumnMetadata) {
	for i, n := range names {
		out = append(out, &message.ColumnMetadata{Keyspace: "ks", Table: "kv", Name: n, Index: int32(i), Type: kinds[n]})
	}
	return out
}

// prepare answers with the statement's text as its id.
func (s *Server) prepare(cql string) message.Message {
	for statement, names := range parameters {
		if !statement.MatchString(cql) {
			continue
		}
		result := &message.RowsMetadata{}
		if statement == selectOne {
			result = &message.RowsMetadata{ColumnCount: 1, Columns: columns("v")}
		}
		return &message.PreparedResult{PreparedQueryId: []byte(cql), VariablesMetadata: &message.VariablesMetadata{Columns: columns(names...)}, ResultMetadata: result}
	}
	return &message.SyntaxError{ErrorMessage: "not understood: " + cql}
}

func rows(columns []*message.ColumnMetadata, data ...message.Row) message.Message {
	return &message.RowsResult{Metadata: &message.RowsMetadata{ColumnCount: int32(len(columns)), Columns: columns}, Data: data}
}

func long(v int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(v)) }

func number(v *primitive.Value) int64 { return int64(binary.BigEndian.Uint64(v.Contents)) }

// outcome is the answer to a conditional statement. If the statement was not applied, the answer
// contains the row, if there is one.
func outcome(applied, found bool, names []string, row message.Row) message.Message {
	if applied {
		return rows(columns("[applied]"), message.Row{{1}})
	}
	if !found {
		return rows(columns("[applied]"), message.Row{{0}})
	}
	return rows(columns(append([]string{"[applied]"}, names...)...), append(message.Row{{0}}, row...))
}

// denied turns the answer of an applied statement into one of a statement that was not applied.
func denied(answer message.Message) message.Message {
	if r, ok := answer.(*message.RowsResult); ok && r.Data[0][0][0] == 1 {
		return outcome(false, false, nil, nil)
	}
	return answer
}

func (s *Server) execute(st Statement, args []*primitive.Value) message.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	match := func(re *regexp.Regexp) string {
		if m := re.FindStringSubmatch(st.CQL); m != nil {
			return m[1]
		}
		return ""
	}
	if what := match(systemLocal); what != "" {
		return s.local(what)
	}
	if match(systemPeers) != "" {
		return s.peers()
	}
	if ks := match(createKeyspace); ks != "" {
		s.store.keyspaces[ks] = false
		return changed(primitive.SchemaChangeTypeCreated, primitive.SchemaChangeTargetKeyspace, ks, "")
	}
	if ks := match(dropKeyspace); ks != "" {
		delete(s.store.keyspaces, ks)
		return changed(primitive.SchemaChangeTypeDropped, primitive.SchemaChangeTargetKeyspace, ks, "")
	}
	if ks := match(createTable); ks != "" {
		s.store.keyspaces[ks] = true
		return changed(primitive.SchemaChangeTypeCreated, primitive.SchemaChangeTargetTable, ks, "kv")
	}
	for _, re := range []*regexp.Regexp{insert, update, selectOne} {
		ks := match(re)
		switch {
		case ks == "":
			continue
		case !s.store.keyspaces[ks]:
			return &message.Invalid{ErrorMessage: "unconfigured table kv"}
		}
		return s.store.execute(re, ks+"/", st, args)
	}
	return &message.SyntaxError{ErrorMessage: "not understood: " + st.CQL}
}

func changed(how primitive.SchemaChangeType, target primitive.SchemaChangeTarget, keyspace, object string) message.Message {
	return &message.SchemaChangeResult{ChangeType: how, Target: target, Keyspace: keyspace, Object: object}
}

// system are the columns of system.local, including those of Cassandra 2.0.
var system = []string{"key", "cluster_name", "data_center", "rack", "release_version", "native_protocol_version", "partitioner"}

func (s *Server) local(what string) message.Message {
	values := map[string]string{
		"key": "local", "cluster_name": "test", "data_center": "datacenter1", "rack": "rack1", "release_version": s.Version,
		"native_protocol_version": string('0' + rune(s.Protocol)), "partitioner": "org.apache.cassandra.dht.Murmur3Partitioner",
	}
	id := message.Row{make([]byte, 16), make([]byte, 16)}
	id[0][15], id[1][15] = 1, 2
	cols, row := []*message.ColumnMetadata{}, message.Row{}
	text := func(name string) {
		cols = append(cols, &message.ColumnMetadata{Keyspace: "system", Table: "local", Name: name, Type: datatype.Varchar})
		row = append(row, []byte(values[name]))
	}
	uuid := func(name string, v []byte) {
		cols = append(cols, &message.ColumnMetadata{Keyspace: "system", Table: "local", Name: name, Type: datatype.Uuid})
		row = append(row, v)
	}
	switch what {
	case "schema_version":
		uuid("schema_version", id[1])
	case "release_version, native_protocol_version":
		text("release_version")
		text("native_protocol_version")
	default:
		for _, name := range system {
			text(name)
		}
		uuid("host_id", id[0])
		uuid("schema_version", id[1])
	}
	return rows(cols, row)
}

// peers returns rows with only an address, so that the client does not contact the peers.
func (s *Server) peers() message.Message {
	var out []message.Row
	for n := range s.Peers {
		out = append(out, message.Row{{10, 0, 0, byte(n + 1)}})
	}
	return rows([]*message.ColumnMetadata{{Keyspace: "system", Table: "peers", Name: "peer", Type: datatype.Inet}}, out...)
}
