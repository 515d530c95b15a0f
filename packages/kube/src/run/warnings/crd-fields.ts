export interface Schema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
  readonly 'x-kubernetes-group-version-kind'?: readonly Kind[];
}

interface Kind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** A CustomResourceDefinition (CRD) that a program expects. */
export interface ExpectedCrd {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly group: string;
    readonly names: { readonly kind: string; readonly plural: string };
    readonly versions: readonly {
      readonly name: string;
      readonly served: boolean;
      readonly schema: { readonly openAPIV3Schema: object };
      readonly subresources?: { readonly status?: object };
    }[];
  };
}

/** The OpenAPI v3 schemas of an API server. */
export interface ServedSchemas {
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> };
}

/** Fields that every kind has. */
const COMMON: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);

/**
 * Returns the expected fields that are missing in the schema of the API server. The API server drops the values of
 * these fields.
 */
export function missingFields(expected: Schema, served: Schema, path: readonly string[] = []): readonly string[] {
  if (served['x-kubernetes-preserve-unknown-fields'] === true) return [];
  const inProperties = Object.entries(expected.properties ?? {}).flatMap(([name, wanted]) => {
    if (path.length === 0 && COMMON.has(name)) return [];
    const there = served.properties?.[name];
    const here = [...path, name];
    return there === undefined ? [here.join('.')] : missingFields(wanted, there, here);
  });
  const inside = (wanted: unknown, there: unknown, suffix: string): readonly string[] =>
    isSchema(wanted) && isSchema(there)
      ? missingFields(wanted, there, [...path.slice(0, -1), `${path.at(-1)}${suffix}`])
      : [];
  return [
    ...inProperties,
    ...inside(expected.items, served.items, '[]'),
    ...inside(expected.additionalProperties, served.additionalProperties, '[*]'),
  ];
}

const isSchema = (value: unknown): value is Schema => typeof value === 'object' && value !== null;

/** Returns the schema of a kind. */
export const servedSchema = ({ components }: ServedSchemas, { group, version, kind }: Kind): Schema | undefined =>
  Object.values(components?.schemas ?? {}).find((schema) =>
    schema['x-kubernetes-group-version-kind']?.some(
      (of) => of.group === group && of.version === version && of.kind === kind,
    ),
  );

const HINT = 'apply the CRDs of this version (deploy/crds, or mcm install)';

/** The maximum number of fields in a warning, because the hint is equal for all fields. */
const NAMED = 4;

/** Returns a warning about missing fields, or undefined if no field is missing. */
export function crdSentence(name: string, expected: Schema, served: Schema | undefined): string | undefined {
  if (served === undefined) {
    return `CRD ${name} is not installed, so its controllers wait; ${HINT}`;
  }
  const missing = missingFields(expected, served);
  if (missing.length === 0) return undefined;
  const more = missing.length > NAMED ? ` and ${missing.length - NAMED} more` : '';
  return `CRD ${name} has another version than this program: the API server drops the fields ${missing.slice(0, NAMED).join(', ')}${more}; ${HINT}`;
}

/** Returns a warning about a CRD that lacks the status subresource, or undefined if the CRD has it. */
export function statusSentence({ metadata, spec }: ExpectedCrd, resources: ReadonlySet<string>): string | undefined {
  const expected = spec.versions.some(({ served, subresources }) => served && subresources?.status !== undefined);
  if (!expected || resources.has(`${spec.names.plural}/status`)) return undefined;
  return `CRD ${metadata.name} has no status subresource, so the API server drops the status of its objects; ${HINT}`;
}
