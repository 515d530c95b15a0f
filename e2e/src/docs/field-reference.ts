import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { ROOT } from './sources.ts';
import { GENERATED, table } from './text/markdown.ts';

interface Schema {
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly 'x-kubernetes-int-or-string'?: boolean;
  readonly 'x-kubernetes-validations'?: readonly { readonly rule: string; readonly message?: string }[];
}

interface Crd {
  readonly spec: {
    readonly group: string;
    readonly names: { readonly kind: string };
    readonly versions: readonly { readonly name: string; readonly schema: { readonly openAPIV3Schema: Schema } }[];
  };
}

const typeOf = (schema: Schema): string =>
  schema['x-kubernetes-int-or-string'] === true ? 'integer or text' : (schema.type ?? 'any');

function rulesOf(schema: Schema, required: boolean): string {
  const rules = new Set([
    ...(required ? ['required'] : []),
    ...(schema.default === undefined ? [] : [`default \`${JSON.stringify(schema.default)}\``]),
    ...(schema.enum === undefined ? [] : [`one of ${schema.enum.map((value) => `\`${String(value)}\``).join(', ')}`]),
    ...(schema['x-kubernetes-validations'] ?? []).map(
      ({ message, rule }) => message?.replace(/, such as \{.*\}$/, '') ?? `\`${rule}\``,
    ),
  ]);
  return [...rules].join('; ');
}

function fieldRows(schema: Schema, path: string): string[][] {
  return Object.entries(schema.properties ?? {})
    .filter(([name]) => path !== '' || !['apiVersion', 'kind', 'metadata'].includes(name))
    .flatMap(([name, field]) => {
      const here = path === '' ? name : `${path}.${name}`;
      const below = field.items ? fieldRows(field.items, `${here}[]`) : fieldRows(field, here);
      const type = field.items ? `list of ${typeOf(field.items)}` : typeOf(field);
      const required = schema.required?.includes(name) === true;
      return [[`\`${here}\``, type, rulesOf(field, required), field.description ?? ''], ...below];
    });
}

/** Generates a page for each API group from its CRDs. */
export function fieldReferenceFiles(): ReadonlyMap<string, string> {
  const folder = join(ROOT, 'deploy/crds');
  const crds = readdirSync(folder)
    .sort()
    .map((file): Crd => parse(readFileSync(join(folder, file), 'utf8')));
  const pages = [...Map.groupBy(crds, ({ spec }) => spec.group)].map(([group, kinds]): [string, string] => {
    const sections = kinds.flatMap(({ spec }) =>
      spec.versions.map(({ name, schema: { openAPIV3Schema: schema } }) =>
        [
          `## ${spec.names.kind} (${name})\n`,
          `${schema.description ?? ''}\n`,
          table(['Field', 'Type', 'Rules', 'Meaning'], fieldRows(schema, '')),
          '',
        ].join('\n'),
      ),
    );
    return [
      `docs/reference/${group}.md`,
      [GENERATED, `# Fields of ${group}\n`, introOf(group), ...sections].join('\n'),
    ];
  });
  return new Map(pages);
}

/** Returns the start of a page: its topic, its readers, and an example. */
function introOf(group: string): string {
  const [note, kind] = group.startsWith('machine.')
    ? ['', 'machinedeployment.spec.strategy']
    : ['<!-- not run: it needs the CRDs of machine configs -->\n', 'machineconfigpool.spec'];
  const intro = `This page lists the fields of all kinds of ${group}. The page is for operators who write objects of this API group.`;
  return `${intro}\n\n${note}\`\`\`sh\nkubectl explain ${kind}\n\`\`\`\n`;
}
