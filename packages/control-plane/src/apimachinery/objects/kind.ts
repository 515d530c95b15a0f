import type { ApiObject, JsonObject } from './object.ts';
import type { StatusCause } from './status.ts';

/**
 * A JSON schema in the dialect of `apiextensions.k8s.io/v1` (`JSONSchemaProps`), with its `x-kubernetes-*` extensions.
 * Built-in kinds use the same dialect. For strategic merge patches they also have `x-kubernetes-patch-merge-key` and
 * `x-kubernetes-patch-strategy`.
 *
 * Built-in schemas are graphs. A shared definition (`io.k8s.api.core.v1.PodSpec`) is one object with its name as `$id`. It may
 * contain itself, as JSONSchemaProps does. Walk along the data, or memoise by identity. In a document with references, write
 * `$id` as a reference.
 */
export interface JsonSchema {
  /** Name of a shared definition, e.g. `io.k8s.api.core.v1.PodSpec`. */
  $id?: string;
  type?: string;
  format?: string;
  description?: string;
  properties?: Record<string, JsonSchema>;
  additionalProperties?: boolean | JsonSchema;
  items?: JsonSchema;
  required?: string[];
  default?: unknown;
  enum?: unknown[];
  nullable?: boolean;
  [keyword: string]: unknown;
}

/** A column of `kubectl get`: a JSON path for custom kinds, a function for built-in ones. */
export interface PrinterColumn {
  /** The rows have the cell, but the Table has no definition of the column, as in the real server. */
  readonly hidden?: boolean;
  readonly name: string;
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'date';
  readonly format?: string;
  readonly description?: string;
  readonly priority?: number;
  readonly jsonPath?: string;
  /** For built-in kinds. A `date` column returns an RFC 3339 time, which the table printer converts to an age. */
  readonly value?: (object: ApiObject, now: Date) => string | number | bigint | boolean | null;
}

/** The input of a strategy that prepares or validates an object. */
export interface StrategyContext {
  readonly now: Date;
  /** '' for the main resource, else for example `status`. */
  readonly subresource: string;
  readonly userName: string;
  /** Nothing is stored. */
  readonly dryRun?: boolean;
  /** The stored objects of a resource, such as `networking.k8s.io/servicecidrs`. */
  readonly stored?: (resource: string) => readonly ApiObject[];
  /** A new random uid. */
  readonly newUid: () => string;
}

/**
 * The rules of one kind as data: its names, its schema, and how its objects are prepared and validated.
 * Each built-in kind, or small family of kinds, has a file with this value. A CRD version is converted to one.
 */
export interface KindDefinition {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly listKind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly namespaced: boolean;
  /** Verbs of the main resource; default: create, delete, deletecollection, get, list, patch, update, watch. */
  readonly verbs?: readonly string[];
  /**
   * Schema of the whole object. Absent: the kind has no schema, and everything is kept. Custom kinds are validated against it.
   * For built-in kinds it defines only fields, merge keys and list types. `setDefaults`, `validate` and `validateUpdate` check
   * the values.
   */
  readonly schema?: JsonSchema;
  /** Built-in kinds: name of the client model behind the schema, e.g. `V1Pod`. */
  readonly model?: string;
  /** Custom kinds prune unknown fields by schema and answer some requests differently from built-in ones. */
  readonly custom: boolean;
  /** `metadata.generation` is set, and incremented when the spec (everything except metadata and status) changes. */
  readonly hasGeneration?: boolean;
  readonly subresources?: {
    /** Writes to the main resource do not change `status`, and vice versa. */
    readonly status?: boolean;
    readonly scale?: {
      readonly specReplicasPath: string;
      readonly statusReplicasPath: string;
      readonly labelSelectorPath?: string;
    };
  };
  /** A change between an empty and an absent list or map changes the generation (`reflect.DeepEqual` in Kubernetes). */
  readonly generationTellsEmpty?: boolean;
  /** For kinds with a generation: a change of these also changes the generation (deployments, endpoint slices). */
  readonly generationCounts?: 'annotations' | 'labels';
  /** Other subresources by name (binding, eviction, token, approval, …): see registry/subresources/find.ts. */
  readonly otherSubresources?: readonly string[];
  readonly columns?: readonly PrinterColumn[];
  /** Annotations that are fields in the internal form of the object. Tables and metadata-only answers omit them. */
  readonly innerAnnotations?: readonly string[];
  /** Conditions of an object's row in a Table; absent or []: none. */
  readonly rowConditions?: (object: ApiObject) => readonly JsonObject[];
  /** Field selectors beyond `metadata.name` and `metadata.namespace`: path → value of an object. */
  readonly selectableFields?: Readonly<Record<string, (object: ApiObject) => string>>;
  /** Selectable fields of other versions of the kind. They are stored with each object, and are not selectable in this version. */
  readonly otherFields?: Readonly<Record<string, (object: ApiObject) => string>>;
  /**
   * For a kind that is a view of another one (`events.k8s.io` Events are core Events): the resource of the stored objects, and
   * the conversions. Both take and return a whole object, and may mutate it.
   */
  readonly storedAs?: {
    readonly resource: string;
    readonly encode: (object: ApiObject) => ApiObject;
    readonly decode: (object: ApiObject) => ApiObject;
  };
  /** The warning in every answer for a deprecated version. */
  readonly deprecationWarning?: string;
  /** The versions of a custom kind, including those that are not served. */
  readonly versions?: readonly string[];
  /** The storage version of a custom kind, if it is a different one. */
  readonly storageVersion?: string;
  /** PUT without a resourceVersion is refused (custom kinds, leases). */
  readonly requiresResourceVersion?: boolean;
  /** PUT of an absent object creates it (leases). */
  readonly createOnUpdate?: boolean;
  /** The default grace period of a delete in seconds; 0: deleted at once (pods have 30 or their own). */
  readonly gracePeriodSeconds?: (object: ApiObject) => number;
  /**
   * Replaces the usual mark of the first delete of one object (a CRD: finalizer and condition). The object remains until a
   * controller finalizes it. A delete of a collection does not call it. Mutates.
   */
  readonly markForDeletion?: (object: ApiObject, now: Date) => void;
  /** For custom kinds: the CRD is being deleted, so no object may be created. */
  readonly terminating?: boolean;
  /** The warning for a delete without a propagationPolicy. */
  readonly propagationWarning?: string;
  /** The default propagationPolicy for dependents. Default `Background`. `Unsupported`: the kind has no dependents. */
  readonly defaultPropagation?: 'Background' | 'Foreground' | 'Orphan' | 'Unsupported';
  /**
   * Adds defaults that depend on other fields; the schema contains the structural ones. Built-in kinds first convert the object
   * to the form of the types of the real server (see `shape.ts`): quantities are canonical, and nulls are removed. Mutates.
   * @throws DecodeError (a StatusError 400) for a built-in kind when a value has the wrong type
   */
  readonly setDefaults?: (object: ApiObject) => void;
  /** Changes the stored text of an object for its readers. A write starts from the stored text. */
  readonly shownAs?: (text: string) => string;
  /** Defaults that apply only when an object is stored and read. Validation does not see them. Mutates. Returns whether it added one. */
  readonly defaultsOnRead?: (object: ApiObject) => boolean;
  /** Removes fields that a client may not set (status on create, …) and sets fields of the server. Mutates. */
  readonly prepareForCreate?: (object: ApiObject, context: StrategyContext) => void;
  readonly prepareForUpdate?: (object: ApiObject, old: ApiObject, context: StrategyContext) => void;
  /** Causes of a 422 in addition to those of the schema; [] for none. */
  readonly validate?: (object: ApiObject, context: StrategyContext) => StatusCause[];
  /** All validation errors of an update: those in the new object and those in the change. */
  readonly validateUpdate?: (object: ApiObject, old: ApiObject, context: StrategyContext) => StatusCause[];
  /** Texts of `Warning` headers for a valid object; `old` is absent for a creation. */
  readonly warnings?: (object: ApiObject, old: ApiObject | undefined) => string[];
  readonly validateName?: (name: string) => string[];
  /** Only the general rules validate the metadata of a new object, and only if `validate` finds no cause. */
  readonly assessesMetaLast?: boolean;
}

/** `group/plural`, unique among served resources of one version. */
export const resourceId = (kind: Pick<KindDefinition, 'group' | 'plural'>): string => `${kind.group}/${kind.plural}`;

/** `v1` or `group/version`. */
export const apiVersionOf = (kind: Pick<KindDefinition, 'group' | 'version'>): string =>
  kind.group === '' ? kind.version : `${kind.group}/${kind.version}`;
