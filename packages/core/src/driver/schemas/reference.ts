import { z } from 'zod';
import type { DriverDefinition } from './define-driver.ts';

/** JSON Schema (draft 2020-12) of a provider spec and its Secret. */
export interface DriverReference {
  readonly provider: string;
  readonly providerSpec: JsonSchema;
  readonly secret: JsonSchema;
}

/** The part of JSON Schema that zod generates. */
export interface JsonSchema {
  readonly type?: string | undefined;
  readonly description?: string | undefined;
  readonly properties?: Readonly<Record<string, JsonSchema>> | undefined;
  readonly required?: readonly string[] | undefined;
  readonly items?: JsonSchema | undefined;
  readonly additionalProperties?: JsonSchema | boolean | undefined;
  readonly enum?: readonly unknown[] | undefined;
  readonly anyOf?: readonly JsonSchema[] | undefined;
  readonly [keyword: string]: unknown;
}

const schemaOf = (schema: z.ZodType): JsonSchema =>
  z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchema;

/**
 * Returns the schemas of a driver as JSON Schema (draft 2020-12), for editors, admission policies and documentation.
 */
export const driverReference = <Spec, Credentials>(
  driver: Pick<DriverDefinition<Spec, Credentials>, 'name' | 'providerSpec' | 'credentialsSchema'>,
): DriverReference => ({
  provider: driver.name,
  providerSpec: schemaOf(driver.providerSpec),
  secret: schemaOf(driver.credentialsSchema),
});

interface Row {
  readonly field: string;
  readonly type: string;
  readonly about: string;
}

/** Formats a Markdown page with one table for the provider spec and one table for the Secret. */
export function referenceText({ provider, providerSpec, secret }: DriverReference): string {
  return [
    `# Reference: provider \`${provider}\``,
    'This page lists the fields of a MachineClass and of its Secrets for this provider. The page is for operators, and is generated from the schemas of the driver.',
    `\`machine-controller-${provider} schema\` prints the same fields as JSON Schema.`,
    '## `providerSpec` of a MachineClass',
    table(['Field', 'Type', 'Meaning'], rowsOf(providerSpec)),
    '## Keys of the Secrets',
    'Keys of `credentialsSecretRef` take precedence over keys of `secretRef`. As in every Secret, the values in `data` are base64-encoded.',
    table(['Key', 'Type', 'Meaning'], rowsOf(secret)),
  ]
    .join('\n\n')
    .concat('\n');
}

function rowsOf(schema: JsonSchema, path = ''): Row[] {
  const { properties = {}, required = [] } = schema;
  return Object.entries(properties).flatMap(([name, field]) => {
    const at = path === '' ? name : `${path}.${name}`;
    const about = [required.includes(name) ? 'Required.' : '', field.description ?? ''].filter(Boolean).join(' ');
    return [{ field: at, type: typeOf(field), about }, ...rowsOf(field, at), ...below(field, at)];
  });
}

const below = ({ items, additionalProperties }: JsonSchema, at: string): Row[] => [
  ...(items ? rowsOf(items, `${at}[]`) : []),
  ...(typeof additionalProperties === 'object' ? rowsOf(additionalProperties, `${at}.<key>`) : []),
];

function typeOf({ type, items, enum: values, additionalProperties, anyOf, const: only }: JsonSchema): string {
  if (values) return values.map((value) => `\`${JSON.stringify(value)}\``).join(' or ');
  if (only !== undefined) return `\`${JSON.stringify(only)}\``;
  if (anyOf) return anyOf.map(typeOf).join(' or ');
  if (items) return `list of ${typeOf(items)}`;
  if (typeof additionalProperties === 'object' && additionalProperties.type)
    return `map of ${typeOf(additionalProperties)}`;
  return type ?? 'anything';
}

function table(head: readonly [string, string, string], rows: readonly Row[]): string {
  const cells = [
    [...head],
    ...rows.map(({ field, type, about }) => [`\`${field}\``, type, about].map((cell) => cell.replaceAll('|', '\\|'))),
  ];
  const widths = head.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const [first = [], ...rest] = cells;
  return [line(first), line(widths.map((width) => '-'.repeat(width))), ...rest.map(line)].join('\n');
}
