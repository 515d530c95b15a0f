import type { z } from 'zod';
import { defined } from '../values/defined.ts';
import { type StructuralSchema, structuralSchema } from './structural-schema.ts';

/** A column of `kubectl get`. */
export interface PrinterColumn {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'date';
  readonly jsonPath: string;
  readonly description: string;
  /** `kubectl get` always shows columns of priority 0, and shows other columns only with `-o wide`. */
  readonly priority?: number;
}

/** The manifest of a CustomResourceDefinition. */
export interface CustomResourceDefinition {
  readonly apiVersion: 'apiextensions.k8s.io/v1';
  readonly kind: 'CustomResourceDefinition';
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  readonly spec: {
    readonly group: string;
    readonly names: {
      readonly kind: string;
      readonly listKind: string;
      readonly plural: string;
      readonly singular: string;
      readonly shortNames?: readonly string[];
    };
    readonly scope: 'Namespaced' | 'Cluster';
    readonly versions: readonly [
      {
        readonly name: string;
        readonly served: true;
        readonly storage: true;
        readonly schema: { readonly openAPIV3Schema: StructuralSchema };
        readonly subresources?: Subresources;
        readonly additionalPrinterColumns?: readonly PrinterColumn[];
      },
    ];
  };
}

interface Subresources {
  readonly status?: Readonly<Record<string, never>>;
  readonly scale?: { readonly specReplicasPath: string; readonly statusReplicasPath: string };
}

/** Options of the CRD of a kind, in addition to its schema. */
export interface CrdOptions {
  readonly shortName?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly status?: boolean;
  /**
   * Adds the `scale` subresource without a labelSelectorPath, because the status of the original has no field for a
   * selector.
   */
  readonly scale?: boolean;
  readonly columns?: readonly PrinterColumn[];
  /** The maximum length of names (default: 253, the limit of the API server). */
  readonly maxNameLength?: number;
}

/** The group, the version and the plural name of a kind. */
export interface CrdResource {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

/** Builds the CRD of a kind from its zod schema. */
export function customResourceDefinition(
  { group, version, kind, plural, namespaced }: CrdResource,
  schema: z.ZodType,
  { shortName, labels, status = false, scale = false, columns = [], maxNameLength }: CrdOptions,
): CustomResourceDefinition {
  let root: StructuralSchema | undefined;
  const subresources: Subresources = defined({
    status: status ? {} : undefined,
    scale: scale ? { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' } : undefined,
  });
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: defined({ name: `${plural}.${group}`, labels }),
    spec: {
      group,
      names: defined({
        kind,
        listKind: `${kind}List`,
        plural,
        singular: kind.toLowerCase(),
        shortNames: shortName === undefined ? undefined : [shortName],
      }),
      scope: namespaced ? 'Namespaced' : 'Cluster',
      versions: [
        defined({
          name: version,
          served: true,
          storage: true,
          schema: {
            get openAPIV3Schema() {
              root ??= rootSchema(schema, maxNameLength);
              return root;
            },
          },
          subresources: status || scale ? subresources : undefined,
          additionalPrinterColumns: columns.length > 0 ? columns : undefined,
        }),
      ],
    },
  };
}

const TYPE_META = {
  apiVersion: { type: 'string', description: 'Version of the schema of this object.' },
  kind: { type: 'string', description: 'Kind of this object.' },
} as const satisfies Record<string, StructuralSchema>;

const metadataSchema = (maxLength?: number): StructuralSchema =>
  maxLength === undefined
    ? { type: 'object' }
    : { type: 'object', properties: { name: { type: 'string', maxLength } } };

/** Returns the schema of a whole object. */
function rootSchema(schema: z.ZodType, maxNameLength?: number): StructuralSchema {
  const root = structuralSchema(schema);
  const required = root.required?.filter((name) => name !== 'metadata' && !Object.hasOwn(TYPE_META, name)) ?? [];
  return defined({
    ...root,
    required: required.length > 0 ? required : root.required,
    properties: { ...TYPE_META, ...root.properties, ...TYPE_META, metadata: metadataSchema(maxNameLength) },
  });
}
