import type { z } from 'zod';
import { type StructuralSchema, structuralSchema } from './structural-schema.ts';

/** A column of `kubectl get`. */
export interface PrinterColumn {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'date';
  readonly jsonPath: string;
  readonly description: string;
  /**
   * `kubectl get` always shows a column of priority 0 (default), and shows a column of priority 1 only with `-o wide`.
   */
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
  /** The default is the limit of the API server, which is 253. */
  readonly maxNameLength?: number;
}

/** The group, version and plural of a kind, as in a resource of `@mcm/kube`. */
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
  const subresources = {
    ...(status && { status: {} }),
    ...(scale && { scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' } }),
  };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}`, ...(labels && { labels }) },
    spec: {
      group,
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular: kind.toLowerCase(),
        ...(shortName !== undefined && { shortNames: [shortName] }),
      },
      scope: namespaced ? 'Namespaced' : 'Cluster',
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          schema: {
            get openAPIV3Schema() {
              root ??= rootSchema(schema, maxNameLength);
              return root;
            },
          },
          ...(Object.keys(subresources).length > 0 && { subresources }),
          ...(columns.length > 0 && { additionalPrinterColumns: columns }),
        },
      ],
    },
  };
}

const TYPE_META = {
  apiVersion: { type: 'string', description: 'Version of the schema of this object.' },
  kind: { type: 'string', description: 'Kind of this object.' },
} as const satisfies Record<string, StructuralSchema>;

const metadataSchema = (maxLength?: number): StructuralSchema => ({
  type: 'object',
  ...(maxLength !== undefined && { properties: { name: { type: 'string', maxLength } } }),
});

/**
 * A CRD can declare only a few rules for apiVersion, kind and metadata, because the API server validates these fields.
 */
function rootSchema(schema: z.ZodType, maxNameLength?: number): StructuralSchema {
  const root = structuralSchema(schema);
  const required = root.required?.filter((name) => name !== 'metadata' && !Object.hasOwn(TYPE_META, name)) ?? [];
  return {
    ...root,
    ...(required.length > 0 && { required }),
    properties: { ...TYPE_META, ...root.properties, ...TYPE_META, metadata: metadataSchema(maxNameLength) },
  };
}
