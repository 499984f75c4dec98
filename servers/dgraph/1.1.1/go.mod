// Builds Dgraph 1.1.1, the version of Table II of the MTC paper, from its own
// source: ./run.sh dgraph. It is a module of its own because it needs its
// dependencies as they were then.
module github.com/isohound/isohound/servers/dgraph/1.1.1

go 1.26.0

tool github.com/dgraph-io/dgraph/dgraph

require (
	contrib.go.opencensus.io/exporter/jaeger v0.1.0 // indirect
	contrib.go.opencensus.io/exporter/prometheus v0.1.0 // indirect
	github.com/DataDog/datadog-go v0.0.0-20190425163447-40bafcb5f6c1 // indirect
	github.com/DataDog/opencensus-go-exporter-datadog v0.0.0-20190503082300-0f32ad59ab08 // indirect
	github.com/DataDog/zstd v1.4.4 // indirect
	github.com/apache/thrift v0.12.0 // indirect
	github.com/beorn7/perks v1.0.0 // indirect
	github.com/blevesearch/bleve v0.0.0-20181114232033-e1f5e6cdcd76 // indirect
	github.com/blevesearch/go-porterstemmer v1.0.2 // indirect
	github.com/blevesearch/segment v0.0.0-20160915185041-762005e7a34f // indirect
	github.com/blevesearch/snowballstem v0.0.0-20180110192139-26b06a2c243d // indirect
	github.com/cespare/xxhash v1.1.0 // indirect
	github.com/codahale/hdrhistogram v0.0.0-20161010025455-3a0bb77429bd // indirect
	github.com/dgraph-io/badger/v2 v2.0.1-0.20191210152157-7c5e6d7f6e8b // indirect
	github.com/dgraph-io/dgo/v2 v2.1.1-0.20191127085444-c7a02678e8a6 // indirect
	github.com/dgraph-io/dgraph v1.1.1 // indirect
	github.com/dgraph-io/ristretto v0.0.1 // indirect
	github.com/dgrijalva/jwt-go v3.2.0+incompatible // indirect
	github.com/dgryski/go-farm v0.0.0-20191112170834-c2139c5d712b // indirect
	github.com/dgryski/go-groupvarint v0.0.0-20190318181831-5ce5df8ca4e1 // indirect
	github.com/dustin/go-humanize v1.0.0 // indirect
	github.com/fsnotify/fsnotify v1.4.7 // indirect
	github.com/go-ini/ini v1.39.0 // indirect
	github.com/go-sql-driver/mysql v0.0.0-20190330032241-c0f6b444ad8f // indirect
	github.com/gogo/protobuf v1.3.1 // indirect
	github.com/golang/geo v0.0.0-20170810003146-31fb0106dc4a // indirect
	github.com/golang/glog v0.0.0-20160126235308-23def4e6c14b // indirect
	github.com/golang/protobuf v1.3.2 // indirect
	github.com/golang/snappy v0.0.1 // indirect
	github.com/google/codesearch v1.0.0 // indirect
	github.com/google/uuid v1.0.0 // indirect
	github.com/hashicorp/golang-lru v0.5.0 // indirect
	github.com/hashicorp/hcl v1.0.0 // indirect
	github.com/inconshreveable/mousetrap v1.0.0 // indirect
	github.com/magiconair/properties v1.8.0 // indirect
	github.com/matttproud/golang_protobuf_extensions v1.0.1 // indirect
	github.com/minio/minio-go v0.0.0-20181109183348-774475480ffe // indirect
	github.com/mitchellh/go-homedir v1.1.0 // indirect
	github.com/mitchellh/mapstructure v1.1.2 // indirect
	github.com/paulmach/go.geojson v0.0.0-20170327170536-40612a87147b // indirect
	github.com/pelletier/go-toml v1.2.0 // indirect
	github.com/philhofer/fwd v1.0.0 // indirect
	github.com/pkg/errors v0.8.1 // indirect
	github.com/pkg/profile v1.2.1 // indirect
	github.com/prometheus/client_golang v0.9.3-0.20190127221311-3c4408c8b829 // indirect
	github.com/prometheus/client_model v0.0.0-20190129233127-fd36f4220a90 // indirect
	github.com/prometheus/common v0.4.1 // indirect
	github.com/prometheus/procfs v0.0.0-20190517135640-51af30a78b0e // indirect
	github.com/spf13/afero v1.1.2 // indirect
	github.com/spf13/cast v1.3.0 // indirect
	github.com/spf13/cobra v0.0.5 // indirect
	github.com/spf13/jwalterweatherman v1.0.0 // indirect
	github.com/spf13/pflag v1.0.3 // indirect
	github.com/spf13/viper v1.3.2 // indirect
	github.com/tinylib/msgp v0.0.0-20190103190839-ade0ca4ace05 // indirect
	github.com/twpayne/go-geom v1.0.5 // indirect
	github.com/willf/bitset v0.0.0-20181014161241-71fa2377963f // indirect
	go.etcd.io/etcd v0.0.0-20190228193606-a943ad0ee4c9 // indirect
	go.opencensus.io v0.21.0 // indirect
	golang.org/x/crypto v0.0.0-20190820162420-60c769a6c586 // indirect
	golang.org/x/net v0.0.0-20191209160850-c0dbc17a3553 // indirect
	golang.org/x/sync v0.0.0-20190423024810-112230192c58 // indirect
	golang.org/x/sys v0.0.0-20191210023423-ac6580df4449 // indirect
	golang.org/x/text v0.3.2 // indirect
	google.golang.org/api v0.3.2 // indirect
	google.golang.org/appengine v1.4.0 // indirect
	google.golang.org/genproto v0.0.0-20190516172635-bb713bdc0e52 // indirect
	google.golang.org/grpc v1.23.0 // indirect
	gopkg.in/DataDog/dd-trace-go.v1 v1.13.1 // indirect
	gopkg.in/yaml.v2 v2.2.2 // indirect
)
