/**
 * Writes the files in `generated/`. The names and types of all fields of built-in kinds (`definitions.json`) come from the
 * models of `@kubernetes/client-node`. Texts (`descriptions.json`) and allowed values (`enums.json`) come from the
 * definitions of Kubernetes.
 *
 *     node --conditions=source src/kinds/generate.ts <folder of @kubernetes/client-node> <folder of k8s.io/kubernetes>
 *
 * Run the program again when the client library contains the models of a newer Kubernetes version. The file `facts.ts`
 * contains data that the models lack.
 */

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { argv, stdout } from 'node:process';
import { pathToFileURL } from 'node:url';
import { defined } from '../apimachinery/objects/plain.ts';
import { SHARED_SCALARS } from '../resources/schemas.ts';
import { bodyKinds, builtinKinds } from './index.ts';
import { readTexts } from './texts.ts';

interface Attribute {
  readonly name: string;
  readonly baseName: string;
  readonly type: string;
  readonly format: string;
}

interface Model {
  readonly attributeTypeMap: readonly Attribute[];
}

const META_MODELS = [
  'V1DeleteOptions',
  'V1ObjectMeta',
  'V1ListMeta',
  'V1LabelSelector',
  'V1FieldSelectorRequirement',
  'V1Condition',
  'V1Status',
  'V1APIResourceList',
  'V1APIGroupList',
];

const PACKAGES: Readonly<Record<string, string>> = {
  '': 'io.k8s.api.core.v1',
  'admissionregistration.k8s.io': 'io.k8s.api.admissionregistration.v1',
  'apiextensions.k8s.io': 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1',
  'apiregistration.k8s.io': 'io.k8s.kube-aggregator.pkg.apis.apiregistration.v1',
  meta: 'io.k8s.apimachinery.pkg.apis.meta.v1',
};

/** Returns the name of an API package, such as `io.k8s.api.policy.v1` or `io.k8s.api.coordination.v1`. */
const packageOf = (group: string, version: string): string =>
  PACKAGES[group] ?? `io.k8s.api.${group.replace(/\..*$/, '')}.${version}`;

/** Removes the version from the name of a model: `V1PodSpec` → `PodSpec`, `CoreV1Event` → `Event`. */
const plainName = (model: string): string => model.replace(/^[A-Za-z]*?V[0-9]+/, '');

const SCALARS: Readonly<Record<string, string>> = {
  Date: 'date-time',
  IntOrString: 'int-or-string',
  any: 'any',
  V1MicroTime: 'date-time-micro',
};

/** Returns the short form of a type: `[]` for lists and `{}` for maps, then a scalar or the name of a model. */
function shortType(type: string, format: string): string {
  const list = /^Array<(.*)>$/.exec(type)?.[1];
  if (list !== undefined) return `[]${shortType(list, format)}`;
  const map = /^\{ \[key: string\]: (.*); \}$/.exec(type)?.[1];
  if (map !== undefined) return `{}${shortType(map, format)}`;
  const scalar = SCALARS[type];
  if (type === 'number') return format === '' ? 'number' : format;
  if (type === 'string' && format !== '') return format;
  return scalar === undefined ? type : format === '' ? scalar : format;
}

const modelIn = (type: string): string | undefined => /^(?:\[\]|\{\})*([A-Z].*)$/.exec(type)?.[1];

const readRequired = (source: string): string[] =>
  [...source.matchAll(/^ {4}'(.+?)': /gm)].map(([, name = '']) => name);

const [, , folder, upstream] = argv;
if (folder === undefined || upstream === undefined)
  throw new Error('name the folders of @kubernetes/client-node and of k8s.io/kubernetes as the arguments');
const textsOf = readTexts(upstream);
const models = join(folder, 'dist/gen/models');
const definitions: Record<string, { id: string; required?: string[]; fields: Record<string, string> }> = {};
const descriptions: Record<string, { text: string; fields: Readonly<Record<string, string>> }> = {};
const enums: Record<string, Readonly<Record<string, readonly string[]>>> = {};

/** Adds a model, and all models to which the model refers. */
async function take(name: string, apiPackage: string): Promise<void> {
  if (definitions[name] !== undefined) return;
  const module: Record<string, Model> = await import(pathToFileURL(join(models, `${name}.js`)).href);
  const model = module[name];
  if (model === undefined) throw new Error(`${name}.js does not export ${name}`);
  const required = readRequired(readFileSync(join(models, `${name}.d.ts`), 'utf8'));
  const fields: Record<string, string> = {};
  const renamed = new Map<string, string>();
  for (const { name: property, baseName, type, format } of model.attributeTypeMap) {
    fields[baseName] = shortType(type, format);
    renamed.set(property, baseName);
  }
  const needed = required.map((property) => renamed.get(property) ?? property);
  const id = `${apiPackage}.${plainName(name)}`;
  definitions[name] = defined({
    id,
    required: needed.length === 0 ? undefined : needed,
    fields,
  });
  const { text, fields: texts, enums: values } = textsOf(id);
  descriptions[name] = { text, fields: texts };
  if (Object.keys(values).length > 0) enums[name] = values;
  for (const type of Object.values(fields)) {
    const other = modelIn(type);
    if (other !== undefined) await take(other, apiPackage);
  }
}

for (const id of Object.values(SHARED_SCALARS)) descriptions[id] = { text: textsOf(id).text, fields: {} };
for (const name of META_MODELS) await take(name, packageOf('meta', 'v1'));
await take('V1TopologySelectorTerm', packageOf('', 'v1'));
for (const kind of [...builtinKinds, ...bodyKinds]) await take(kind.model ?? '', packageOf(kind.group, kind.version));

const target = new URL('./generated/', import.meta.url);
mkdirSync(target, { recursive: true });
writeFileSync(new URL('definitions.json', target), `${JSON.stringify(definitions)}\n`);
writeFileSync(new URL('descriptions.json', target), `${JSON.stringify(descriptions)}\n`);
writeFileSync(new URL('enums.json', target), `${JSON.stringify(enums)}\n`);
stdout.write(`${Object.keys(definitions).length} definitions\n`);
