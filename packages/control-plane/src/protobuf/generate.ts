/**
 * Writes `generated/messages.json`: the field numbers of the messages that clients send, read from the `generated.proto` files of
 * k8s.io/api and k8s.io/apimachinery.
 *
 *     node --conditions=source src/protobuf/generate.ts <folder with the .proto files>
 *
 * A row reads `number name:type …`. Types: `s` string, `b` bool, `i` integer, `d` double, `y` bytes, `t` time, `q` quantity, `o` int or string,
 * `u` duration, `r` raw JSON, or the name of a message; `[]` before it for lists, `{}` for maps, `~` for what JSON has inline.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { argv } from 'node:process';
import definitions from '../kinds/generated/definitions.json' with { type: 'json' };

interface Field {
  readonly number: string;
  readonly name: string;
  readonly type: string;
  readonly message: string | undefined;
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
  'meta.v1.MicroTime': 't',
  'meta.v1.Duration': 'u',
  'api.resource.Quantity': 'q',
  'util.intstr.IntOrString': 'o',
  'pkg.runtime.RawExtension': 'r',
  'meta.v1.FieldsV1': 'r',
};

/** Go embeds these, so that JSON has their fields in the place of the field itself. */
const INLINE = new Set([
  'volumeSource',
  'handler',
  'localObjectReference',
  'ephemeralContainerCommon',
  'persistentVolumeSource',
  'ruleWithOperations',
  'rule',
  'ingressRuleValue',
]);

/** Kinds that kubectl sends although the models do not have them. */
const FURTHER_ROOTS = ['autoscaling.v1.HorizontalPodAutoscaler', 'autoscaling.v1.Scale'];

const folder = argv[2] ?? '.';
const target = new URL('generated/messages.json', import.meta.url);

const lastThree = (name: string): string => name.split('.').slice(-3).join('.');

/** A type of a proto file under the name that this table uses. */
const nameOf = (type: string, pack: string): string =>
  lastThree(type.startsWith('.') ? type.slice(1) : type.includes('.') ? type : `${pack}.${type}`);

function parse(text: string, messages: Map<string, Field[]>): void {
  const pack = /^package ([\w.]+);/m.exec(text)?.[1] ?? '';
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

const messages = new Map<string, Field[]>();
for (const path of readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()) {
  if (path.endsWith('.proto')) parse(readFileSync(join(folder, path), 'utf8'), messages);
}

/** Names of JSON fields by message; what is not among them stands inline. */
const jsonFields = new Map(
  Object.values(definitions).map((model) => [lastThree(model.id), new Set(Object.keys(model.fields))]),
);

const rows: Record<string, string> = {};
const visit = (name: string): void => {
  const fields = messages.get(name);
  if (fields === undefined || rows[name] !== undefined) return;
  const known = jsonFields.get(name);
  rows[name] = '';
  const kept: Field[] = [];
  const words: string[] = [];
  for (const field of fields) {
    const json = field.name.charAt(0).toLowerCase() + field.name.slice(1);
    const isKnown = known === undefined || known.has(json);
    const isInline = !isKnown && INLINE.has(field.name);
    if (!isKnown && !isInline) continue;
    kept.push(field);
    words.push(`${field.number} ${json}:${isInline ? '~' : ''}${field.type}`);
  }
  rows[name] = words.join(' ');
  for (const field of kept) if (field.message !== undefined) visit(field.message);
};
for (const name of [...jsonFields.keys(), ...FURTHER_ROOTS]) visit(name);
const sorted = Object.fromEntries(Object.entries(rows).sort(([a], [b]) => (a < b ? -1 : 1)));
writeFileSync(target, `${JSON.stringify(sorted, null, 0)}\n`);
