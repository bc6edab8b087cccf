"""What common words and well-known names are: evidence for a type, never the last word; data only.

The small language model calls Kafka a person and Copperline a country. Its label is one vote; these lists are others:
technical names that many notes hold, places and given names that are common, and nouns that tell the type of what they
head (`billing service`, `search team`). A list is of a kind of word and is not grown for one text.
"""

from __future__ import annotations

from ctxsync.engine.extraction.words import word_set

_TECHNICAL = {
    "database": """postgres postgresql mysql mariadb sqlite redis mongodb mongo cassandra dynamodb couchdb couchbase elasticsearch
    opensearch neo4j clickhouse duckdb snowflake bigquery redshift oracle db2 firebird influxdb timescaledb cockroachdb
    memcached etcd rocksdb leveldb lmdb firestore supabase planetscale typesense meilisearch solr milvus qdrant weaviate
    pinecone pgvector chroma s3 minio hbase druid trino presto valkey keydb foundationdb spanner tidb vitess""",
    "broker": "kafka rabbitmq nats activemq zeromq pulsar sqs sns kinesis celery sidekiq mqtt mosquitto resque",
    "platform": """kubernetes k8s openshift nomad heroku aws gcp azure fargate lambda ec2 eks gke vercel netlify cloudflare
    digitalocean linode hetzner render proxmox vmware docker podman linux ubuntu debian fedora windows macos android ios
    freebsd openbsd nixos jvm""",
    "language": """python javascript typescript rust golang java kotlin scala ruby perl php haskell ocaml erlang elixir clojure
    lua julia fortran cobol c++ c# f# sql bash html css webassembly swift zig""",
    "tool": """git github gitlab bitbucket jenkins terraform ansible puppet chef grafana prometheus loki jaeger sentry datadog
    splunk kibana logstash fluentd consul vault nginx apache haproxy envoy traefik istio airflow dagster prefect dbt spark
    flink hadoop hive pandas numpy scipy pytorch tensorflow keras django flask fastapi rails laravel spring react redux zustand
    angular vue svelte next.js node.js deno jquery webpack vite babel eslint graphql grpc oauth jwt openapi swagger figma notion
    jira confluence slack obsidian logseq emacs vim neovim vscode tmux systemd cron openssl openssh ssh tls ssl http https
    tcp udp dns smtp imap json yaml toml xml csv protobuf avro parquet markdown latex pandoc ffmpeg imagemagick libcurl curl
    wget make cmake bazel gradle maven npm yarn pnpm pip poetry uv ruff mypy pytest selenium playwright cypress junit
    spacy onnx ollama llama.cpp langchain openai chatgpt gpt-4 gpt-4o claude gemini bert whisper stripe twilio sendgrid auth0
    okta keycloak tableau looker metabase superset excel powerpoint word photoshop blender unity wordpress shopify drupal
    setuptools hatch hatchling flit tox nox isort flake8 pylint requests httpx aiohttp urllib3 starlette uvicorn gunicorn
    pydantic sqlalchemy alembic jinja2 mkdocs sphinx attrs marshmallow lxml pillow cryptography certifi cython msgpack
    simplejson orjson chardet charset-normalizer trio anyio gevent eventlet tornado twisted h11 h2 httpcore zstandard zstd
    lz4 xxhash brotli lodash express koa fastify moment vitest mocha prettier rollup esbuild turborepo bun tailwind
    tokio serde hyper actix log4j junit5 mockito hibernate travis travis-ci circleci appveyor codecov coveralls dependabot
    pre-commit fuse llfuse pyfuse3 libsodium zlib libxml2 ncurses glibc musl gcc clang llvm
    salesforce hubspot zendesk datasette jupyter matplotlib zookeeper hazelcast varnish squid rsync samba""",
}
TECHNICAL: dict[str, str] = {name: kind for kind, names in _TECHNICAL.items() for name in names.split()}

PLACES = word_set("""afghanistan albania algeria argentina armenia australia austria azerbaijan bangladesh belarus belgium bolivia bosnia brazil
    bulgaria cambodia cameroon canada chile china colombia croatia cuba cyprus czechia denmark ecuador egypt england estonia
    ethiopia europe africa asia america finland france georgia germany ghana greece greenland guatemala haiti hungary iceland
    india indonesia iran iraq ireland israel italy jamaica japan jordan kazakhstan kenya korea kosovo kuwait laos latvia lebanon
    libya lithuania luxembourg malaysia malta mexico moldova mongolia morocco mozambique myanmar namibia nepal netherlands
    nicaragua nigeria norway pakistan palestine panama paraguay peru philippines poland portugal qatar romania russia rwanda
    scotland senegal serbia singapore slovakia slovenia somalia spain sudan sweden switzerland syria taiwan tanzania thailand
    tunisia turkey uganda ukraine uruguay uzbekistan venezuela vietnam wales yemen zambia zimbabwe
    amsterdam antwerp athens atlanta auckland austin bangalore bangkok barcelona basel beijing belfast belgrade bergen berlin
    bern birmingham bogota bologna bordeaux boston bratislava bremen brighton brisbane bristol brno brussels bucharest budapest
    cairo calgary cambridge cardiff chicago cologne copenhagen cork dallas delhi denver detroit dresden dubai dublin dundee
    edinburgh eindhoven florence frankfurt freiburg gdansk geneva genoa ghent glasgow gothenburg granada graz hague hamburg
    hannover hanoi helsinki houston innsbruck istanbul jakarta jerusalem johannesburg karachi kathmandu kiev krakow kyiv kyoto
    lagos lausanne leeds leipzig lille lima linz lisbon liverpool ljubljana london lyon madrid malaga malmo manchester manila
    marseille melbourne miami milan minneapolis minsk montreal moscow mumbai munich nairobi nantes naples nashville nice
    nottingham nuremberg oakland odessa osaka oslo ostrava ottawa oxford palermo paris perth philadelphia phoenix pittsburgh
    porto portland prague riga rome rotterdam salzburg sarajevo seattle seoul seville shanghai sheffield sofia stockholm
    strasbourg stuttgart sydney tallinn tampere tbilisi tehran tokyo toronto toulouse trieste tromsø turin uppsala utrecht
    valencia vancouver venice vienna vilnius warsaw washington wellington whitby york zagreb zurich zürich münchen köln
    california texas florida ohio virginia oregon nevada arizona colorado michigan georgia bavaria catalonia brittany tuscany
    normandy queensland ontario quebec manhattan brooklyn""")

GIVEN_NAMES = word_set("""aaron abby abdul abigail ada adam adrian agnes ahmed aisha alan alberto alejandro alex alexander alexandra alexis alfred ali
    alice alicia alina alison amanda amber amelia amina amir amit amy ana anders andrea andreas andrei andrew angela anika anil
    anita anjali ann anna anne annika anthony anton antonio anya april arjun arthur arun asha ashley astrid aurora ava axel
    barbara beatrice ben benjamin bernard beth bianca bill bjorn bob boris brandon brenda brian bruno camila carla carlos carmen
    carol caroline catherine cecilia charles charlie charlotte chen chloe chris christian christina christine christopher claire
    clara claudia colin connor craig cynthia daisy damien dan daniel daniela david dawn deborah deepa denise dennis diana diego
    dmitri dominic donald donna dorothy doug dylan edgar edith edward ehsan eileen elena eli elias elijah elin elisa elizabeth
    ella ellen elsa emil emilia emily emma eric erik erika erin esther ethan eva evan eve evelyn fabian farah fatima felipe
    felix fernando fiona florian frances francesca francis frank fred frida gabriel gabriela gareth gary george gerald gina
    giulia gloria gordon grace graham greg greta gustav hana hannah hans harold harriet harry hassan heather hector heidi
    helen helena henrik henry hiroshi holly hugo ian ibrahim idris ines inga ingrid irene irina isaac isabel isabella ivan
    jack jacob jade jakob james jamie jan jane janet jasmine jason javier jean jeff jennifer jenny jeremy jessica jill jim joan
    joanna joao joe joel johan johanna john jonas jonathan joon jordan jorge jose josef joseph joshua joy juan judith julia julian
    julie juliet jun justin kai kara karen karim karl kate katherine katie kavya keith keiko kelly ken kenji kevin khalid kim
    kiran klaus kofi kumar kurt kyle lara lars laura lauren layla lea lee leila lena leo leon leonard leonie lewis liam lily
    linda lisa liz logan lorenzo louis louise luca lucas lucia lucy luis luka lukas luke lydia mads magnus malik marc marcel
    marco marcus margaret maria marie marina mario mark marta martha martin mary mateo mathilde matt matteo matthew maurice max
    maxime maya megan mei mehmet melanie melissa mia michael michelle miguel mike mila milan milo mina miriam mohamed mohammed
    molly monica morgan muhammad nadia nancy naomi natalia natalie natasha nathan neha neil nicholas nick nicola nicole nigel
    nikhil nikolai nils nina noah noor nora norma olga oliver olivia omar oscar otto owen pablo pamela patricia patrick paul
    paula paulo pavel pedro peggy penelope peter petra philip phoebe pia pierre piotr priya quentin rachel rafael raj rajesh
    ralph ramon rania raul ravi ray rebecca rekha rene ricardo richard rita robert roberto robin rohan roland rosa rose ross
    ruby russell ruth ryan sabine sadia sally sam samantha samir samuel sana sandra sanjay sara sarah scott sean sebastian
    selma sergei shane sharon shreya sigrid simon simone sofia sonia sophia sophie stefan stella stephanie stephen steve steven
    stuart sue sunita susan sven sylvia tamara tania tara tariq ted teresa tess tessa thea theo theodore theresa thomas tim timothy
    tina tobias todd tom tomas tony tracy tyler ulrich uma ursula valentina valerie vera veronica victor victoria vijay viktor
    vincent viola violet vivian vladimir walter wanda wei wendy will william wolfgang xavier yan yasmin yasmine ying yuki yusuf
    yvonne zara zoe""")

_HEADS = {
    "Artifact": """service pipeline database api server client app application library module package repo repository dashboard tool
    system platform script job worker queue cache index gateway cluster bucket table endpoint framework plugin extension
    website webpage page document doc docs report paper book article spec specification spreadsheet model dataset engine
    scheduler parser exporter importer resizer compiler wiki newsletter ledger certificate config configuration file log backend
    frontend interface sdk cli daemon agent bot integration suite build branch container image disk driver kernel broker proxy
    balancer firewall router printer phone laptop car bike boiler machine device sensor code codebase software feature
    component subsystem store storage warehouse catalog catalogue form template contract manual guide handbook thesis novel film
    movie song album painting poem essay blog podcast recipe prototype product portal crawler indexer loader renderer
    editor viewer monitor listener handler adapter wrapper connector runner builder validator formatter linter tokenizer
    converter generator emulator simulator microservice webhook workflow playbook runbook checklist roadmap backlog inbox
    calendar mailer chatbot firmware hardware patch key token password secret domain subdomain schema grid""",
    "Organization": """team company group department board committee firm startup agency university school college institute bank
    club association union council clinic hospital ministry band squad crew lab labs inc inc. corp corp. corporation gmbh
    ltd ltd. llc plc foundation society authority bureau court government parliament army police church orchestra choir
    consortium cooperative collective studio studios partners holdings industries systems technologies foods airlines
    newspaper magazine publisher nursery bakery brewery charity nonprofit league party division guild""",
    "Place": """city town village building street avenue road room harbour harbor park station airport hotel restaurant cafe café
    bar pub house apartment flat beach valley region country district island lake river museum square mountain forest bridge
    garden coast neighbourhood neighborhood county province state continent campus theatre theater stadium gym""",
    "Event": """meeting incident outage conference workshop launch release deployment migration sprint wedding concert festival forum
    summit trip interview retro retrospective standup election hackathon exam crash failure alert rollout offsite onboarding
    kickoff demo seminar webinar lecture congress ceremony strike war fire storm earthquake accident tournament marathon
    upgrade downtime breach postmortem audit holiday vacation appointment hike dinner lunch delay regression leak attack""",
    "Idea": "plan idea hypothesis proposal goal hunch vision",
    "Concept": """method theory algorithm protocol policy strategy approach pattern principle technique standard format language
    concept process architecture methodology discipline field science regulation law tax""",
}
HEADS: dict[str, str] = {noun: kind for kind, nouns in _HEADS.items() for noun in nouns.split()}
# Heads that name a thing of the wide world when nothing stands before them: "the company" is some company known from
# elsewhere in the text, never an entity named "company".
ORGANIZATION_SUFFIXES = word_set("""labs inc inc. corp corp. corporation gmbh ltd ltd. llc plc ag foundation institute university college group holdings
    partners studios industries technologies systems foods airlines bank association society clinic hospital council ministry
    agency press records motors pharmaceuticals energy ventures capital authority bureau department school times post
    journal club united""")
PLACE_SUFFIXES = word_set("""street avenue road lane square park island islands river lake mountain mountains valley county bay beach harbour harbor airport
    station bridge city heights hills quay""")
CONCEPT_SUFFIXES = word_set("""function theorem lemma distribution network networks graph tree matrix vector variable equation formula problem search
    learning regression analysis effect bias paradox rule logic calculus test property properties classification clustering
    optimization inference estimation sampling paradigm axiom""")
EVENT_SUFFIXES = word_set(
    "festival forum conference summit congress cup olympics fair awards war championship day con marathon"
)

# Nouns for people by what they do or are to someone: never the name of one.
ROLES = word_set("""accountant actor actress admin administrator advisor adviser analyst architect artist assistant attorney aunt author baker
    boss boyfriend brother captain ceo cfo chairman chairwoman chair chef chief cio clerk coach cofounder co-founder colleague
    commander composer consultant contractor coo coordinator cousin coworker cto curator dad daughter dentist designer
    developer director doctor driver editor employee engineer father founder friend gardener girlfriend governor
    grandfather grandmother head husband intern janitor journalist judge landlord lawyer lead leader lecturer librarian
    maintainer manager mayor member mentor minister mom mother mum musician neighbour neighbor nephew niece nurse officer
    organizer owner painter partner photographer physiotherapist pilot plumber poet president producer professor programmer
    recruiter reporter researcher roommate scientist secretary senator sister soldier son spokesman spokeswoman sponsor student
    supervisor surgeon teacher technician therapist tutor uncle vet vp wife writer researcher mathematician physicist""")
TITLES = word_set(
    "mr mr. mrs mrs. ms ms. miss dr dr. prof prof. professor sir dame madam captain president senator sgt. lt."
)

# Verbs that open an instruction: a capital there is a sentence's, and none of them is a name.
IMPERATIVES = word_set("""add allow apply avoid bump call change check choose clean clear click close configure convert copy create
    define delete deprecate disable drag drop edit enable ensure enter export expose find fix follow get go handle import improve
    include install introduce keep learn let load look make merge move note open paste prevent press pull push read refactor remove
    rename replace restart restore revert run save search see select send set show sort start stop store support switch
    tap test try turn type update upgrade use view wrap write""")

# Words that letters begin and end with; with a capital they look like a part of the name behind them.
GREETINGS = word_set("hello hi hey dear thanks cheers welcome greetings morning regards best sincerely")
# Words that letters end with: who signs stands behind them.
CLOSINGS = word_set("regards sincerely wishes faithfully")

# Nouns that stand for nothing in particular.
EMPTY = word_set("""thing things way ways lot lots bit kind sort part parts time times day days week weeks month months year years hour hours
    minute minutes morning afternoon evening night today tomorrow yesterday one ones something anything everything nothing someone
    anyone everyone nobody somebody everybody none people person man woman guy guys folks number numbers amount case cases point
    points reason reasons example examples fact place area side end start beginning top bottom middle rest half couple few
    data work stuff issue issues problem problems question questions answer answers change changes result results use order
    course matter moment while sake line lines item items name names word words others other another this that it favour
    favor charge step steps level type types set list text note notes link code total behalf terms front addition life""")
# Nouns of things that every text has its own of: alone they name nothing that another text could mean.
GENERIC = word_set("""file page table value build commit usage location option field user code document image folder directory function class
    method variable argument parameter string list error warning message window menu button command approach product tool
    feature plugin process website site app application library package version interface system module component key
    password format concept resource setting content action element box group section view link template form script
    device machine computer model config configuration query node layer chapter column row log branch release patch""")
VAGUE = word_set("""new same other several various many much more most few some whole entire big small large little great good nice bad
    first second third last next latest current previous recent former early late only main own such certain different
    similar important possible real actual full two three four five six seven eight nine ten one every each both another
    existing brand upcoming """)
