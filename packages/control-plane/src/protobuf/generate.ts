/**
 * Writes `generated/messages.json`: the field numbers of the messages in requests and responses. The program reads the
 * `generated.proto` files and the Go types of k8s.io/api, apimachinery, apiextensions-apiserver and kube-aggregator.
 *
 * node --conditions=source src/protobuf/generate.ts <folder with these modules>…
 *
 * A row is `number name:type …`. Types:
 * - `s` string, `b` bool, `i` integer, `d` double, `y` bytes, `t` time, `m` time with microseconds
 * - `q` quantity, `o` int or string, `u` duration, `r` raw JSON
 * - `x` a message whose JSON form is its list of texts
 * - `A`, `B` and `C`: a schema, or a list of schemas (`A`), a bool (`B`), or a list of texts (`C`)
 * - the name of a message
 *
 * Prefixes: `[]` for lists, `{}` for maps, and `~` for fields that are inline in JSON. A leading `+` marks fields that
 * Go always writes, because they are not pointers.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { argv } from 'node:process';
import definitions from '../kinds/generated/definitions.json' with { type: 'json' };

interface Field {
  readonly number: string;
  readonly name: string;
  readonly type: string;
  readonly message: string | undefined;
}

interface GoField {
  readonly json: string;
  readonly always: boolean;
}

const SCALARS: Readonly<Record<string, string>> = {
  string: 's',
  bool: 'b',
  int32: 'i',
  int64: 'i',
  uint32: 'i',
  uint64: 'i',
  double: 'd',
  bytes: 'y',
  'meta.v1.Time': 't',
  'meta.v1.MicroTime': 'm',
  'meta.v1.Duration': 'u',
  'meta.v1.Verbs': 'x',
  'authentication.v1.ExtraValue': 'x',
  'authorization.v1.ExtraValue': 'x',
  'certificates.v1.ExtraValue': 'x',
  'api.resource.Quantity': 'q',
  'util.intstr.IntOrString': 'o',
  'pkg.runtime.RawExtension': 'r',
  'meta.v1.FieldsV1': 'r',
  'apiextensions.v1.JSON': 'r',
  'apiextensions.v1.JSONSchemaPropsOrArray': 'A',
  'apiextensions.v1.JSONSchemaPropsOrBool': 'B',
  'apiextensions.v1.JSONSchemaPropsOrStringArray': 'C',
};

const FURTHER_ROOTS = [
  'autoscaling.v1.HorizontalPodAutoscaler',
  'autoscaling.v1.Scale',
  'apiextensions.v1.CustomResourceDefinition',
  'apiregistration.v1.APIService',
  'meta.v1.PartialObjectMetadata',
  'meta.v1.APIVersions',
  'meta.v1.APIGroup',
  'meta.v1.APIGroupList',
  'meta.v1.APIResourceList',
  'meta.v1.ListMeta',
  'apidiscovery.v2.APIGroupDiscovery',
  'policy.v1beta1.Eviction',
];

const folders = argv.slice(2);
const target = new URL('generated/messages.json', import.meta.url);

const lastThree = (name: string): string => name.split('.').slice(-3).join('.');

const nameOf = (type: string, pack: string): string =>
  lastThree(type.startsWith('.') ? type.slice(1) : type.includes('.') ? type : `${pack}.${type}`);

const packageOf = (proto: string): string => /^package ([\w.]+);/m.exec(proto)?.[1] ?? '';

function parse(text: string, messages: Map<string, Field[]>): void {
  const pack = packageOf(text);
  for (const [, message = '', body = ''] of text.matchAll(/^message (\w+) \{\n([\s\S]*?)^\}/gm)) {
    const fields: Field[] = [];
    for (const row of body.split('\n')) {
      const parts = /^ {2}(?:(optional|repeated) ([\w.]+)|map<string, ([\w.]+)>) (\w+) = (\d+);/.exec(row);
      if (parts === null) {
        if (/^ {2}\w.*=/.test(row)) throw new Error(`unread line: ${row}`);
        continue;
      }
      const [, label, single, mapped, name = '', number = ''] = parts;
      const type = single ?? mapped ?? '';
      const scalar = SCALARS[type] ?? SCALARS[nameOf(type, pack)];
      const prefix = mapped !== undefined ? '{}' : label === 'repeated' ? '[]' : '';
      const own = scalar ?? nameOf(type, pack);
      fields.push({ number, name, type: `${prefix}${own}`, message: scalar === undefined ? own : undefined });
    }
    messages.set(lastThree(`${pack}.${message}`), fields);
  }
}

/** Go does not write the nil value of a list or map. */
const collections = new Set<string>();

function parseGo(text: string, pack: string, fields: Map<string, GoField>): void {
  for (const [, name = '', body = ''] of text.matchAll(/^type (\w+) struct \{\n([\s\S]*?)^\}/gm)) {
    for (const row of body.split('\n')) {
      const parts = /^\s*(?:\w+\s+)?([*[\]\w.]+)\s+`(.*)`/.exec(row);
      const number = /protobuf:"\w+,(\d+),/.exec(parts?.[2] ?? '')?.[1];
      if (parts === null || number === undefined) continue;
      const type = parts[1] ?? '';
      const json = /json:"([^",]*)/.exec(parts[2] ?? '')?.[1] ?? '';
      const last = type.split('.').at(-1) ?? '';
      fields.set(`${lastThree(`${pack}.${name}`)}.${number}`, {
        json,
        always: !/^(\*|\[\]|map\[)/.test(type) && !collections.has(last),
      });
    }
  }
}

const messages = new Map<string, Field[]>();
const goFields = new Map<string, GoField>();
const protos = folders.flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('generated.proto'))
    .map((path) => join(folder, path)),
);
const goFiles = protos.flatMap((proto) => {
  const pack = packageOf(readFileSync(proto, 'utf8'));
  return readdirSync(dirname(proto))
    .filter((path) => path.endsWith('.go') && !path.includes('_test') && !path.includes('generated'))
    .map((path) => ({ pack, text: readFileSync(join(dirname(proto), path), 'utf8') }));
});
for (const proto of protos.sort()) parse(readFileSync(proto, 'utf8'), messages);
for (const { text } of goFiles) {
  for (const [, name = ''] of text.matchAll(/^type (\w+) (?:\[\]|map\[)/gm)) collections.add(name);
}
for (const { pack, text } of goFiles) parseGo(text, pack, goFields);

/** If the models contain a message, the program lists only the fields of the model. */
const jsonFields = new Map(
  Object.values(definitions).map((model) => [lastThree(model.id), new Set(Object.keys(model.fields))]),
);
// The schemas of these messages are free-form, so the models do not limit their fields.
for (const name of [...jsonFields.keys()]) if (name.includes('.JSON')) jsonFields.delete(name);

const rows: Record<string, string> = {};
const visit = (name: string): void => {
  const fields = messages.get(name);
  if (fields === undefined || rows[name] !== undefined) return;
  const known = jsonFields.get(name);
  rows[name] = '';
  const kept: Field[] = [];
  const words: string[] = [];
  for (const field of fields) {
    const go = goFields.get(`${name}.${field.number}`);
    if (go === undefined) throw new Error(`no field ${field.number} of ${name} in Go`);
    const isInline = go.json === '';
    if (!isInline && known !== undefined && !known.has(go.json)) continue;
    kept.push(field);
    const marks = `${go.always ? '+' : ''}${isInline ? '~' : ''}`;
    words.push(`${field.number} ${isInline ? field.name : go.json}:${marks}${field.type}`);
  }
  rows[name] = words.join(' ');
  for (const field of kept) if (field.message !== undefined) visit(field.message);
};
const roots = [...Object.values(definitions).map((model) => lastThree(model.id)), ...FURTHER_ROOTS];
// The rows contain a letter instead of the name JSONSchemaProps.
for (const name of [...roots, 'apiextensions.v1.JSONSchemaProps']) visit(name);
const sorted = Object.fromEntries(Object.entries(rows).sort(([a], [b]) => (a < b ? -1 : 1)));
writeFileSync(target, `${JSON.stringify(sorted, null, 0)}\n`);
