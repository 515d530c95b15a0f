import type { ApiObject, JsonObject } from './object.ts';
import type { StatusCause } from './status.ts';

/**
 * A JSON schema in the dialect of `apiextensions.k8s.io/v1` (`JSONSchemaProps`), with its `x-kubernetes-*` extensions.
 * Built-in kinds use the same dialect, with `x-kubernetes-patch-merge-key` / `x-kubernetes-patch-strategy` beside
 * `x-kubernetes-list-type` / `x-kubernetes-list-map-keys` where a strategic merge patch needs them.
 *
 * Built-in schemas are graphs: a definition used in many places (`io.k8s.api.core.v1.PodSpec`) is one and the same object, carries its
 * name as `$id`, and may hold itself (JSONSchemaProps does). Walk along the data or memoise by identity; in a document
 * that knows references write `$id` as a reference.
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
  readonly name: string;
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'date';
  readonly format?: string;
  readonly description?: string;
  readonly priority?: number;
  readonly jsonPath?: string;
  /** For built-in kinds; a `date` column returns the RFC 3339 time, which the table printer turns into an age. */
  readonly value?: (object: ApiObject, now: Date) => string | number | bigint | boolean | null;
}

/** The input of a strategy that prepares or validates an object. */
export interface StrategyContext {
  readonly now: Date;
  /** '' for the main resource, else e.g. `status`. */
  readonly subresource: string;
  readonly userName: string;
  /** A new random uid. */
  readonly newUid: () => string;
}

/**
 * The rules of one kind, as data: how it is named and served, what it looks like, and what is done to it on the way in.
 * Built-in kinds are values of this type, one file each (or one a small family); a CRD version becomes one as well.
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
   * Schema of the whole object. Absent: the kind is schemaless (everything is kept). Custom kinds are validated against it; a built-in kind's
   * tells fields, merge keys and list types only, and `setDefaults`, `validate` and `validateUpdate` judge its values.
   */
  readonly schema?: JsonSchema;
  /** Built-in kinds: name of the client model behind the schema, e.g. `V1Pod`. */
  readonly model?: string;
  /** Custom kinds prune unknown fields by schema and answer some requests differently from built-in ones. */
  readonly custom: boolean;
  /** `metadata.generation` is kept and bumped when the spec (all but metadata and status) changes. */
  readonly hasGeneration?: boolean;
  readonly subresources?: {
    /** Writes to the main resource leave `status` alone, and the other way round. */
    readonly status?: boolean;
    readonly scale?: {
      readonly specReplicasPath: string;
      readonly statusReplicasPath: string;
      readonly labelSelectorPath?: string;
    };
  };
  /** A list or map that is given empty counts as a change of generation where there is none (`reflect.DeepEqual` upstream). */
  readonly generationTellsEmpty?: boolean;
  /** Of a kind with a generation: a change of these counts as one of the spec (deployments, endpoint slices). */
  readonly generationCounts?: 'annotations' | 'labels';
  /** Other subresources by name (binding, eviction, token, approval, …): see registry/writes/subresource.ts. */
  readonly otherSubresources?: readonly string[];
  readonly columns?: readonly PrinterColumn[];
  /** Annotations that are fields in the server's own form of the object: Tables and metadata alone do not show them. */
  readonly innerAnnotations?: readonly string[];
  /** Conditions of an object's row in a Table; absent or []: none. */
  readonly rowConditions?: (object: ApiObject) => readonly JsonObject[];
  /** Field selectors beyond `metadata.name` and `metadata.namespace`: path → value of an object. */
  readonly selectableFields?: Readonly<Record<string, (object: ApiObject) => string>>;
  /**
   * For a kind that is a view of another one (`events.k8s.io` Events are core Events): the resource under which its objects
   * are kept, and the way there and back. Both take and return a whole object; they may mutate it.
   */
  readonly storedAs?: {
    readonly resource: string;
    readonly encode: (object: ApiObject) => ApiObject;
    readonly decode: (object: ApiObject) => ApiObject;
  };
  /** The warning that every answer of a deprecated version carries. */
  readonly deprecationWarning?: string;
  /** The version in which a custom kind is stored, when it is another one. */
  readonly storageVersion?: string;
  /** PUT without a resourceVersion is refused (custom kinds, leases). */
  readonly requiresResourceVersion?: boolean;
  /** PUT of an absent object creates it (leases). */
  readonly createOnUpdate?: boolean;
  /** Grace period in seconds that a delete gets when the caller names none; 0: deleted at once (pods have 30 or their own). */
  readonly gracePeriodSeconds?: (object: ApiObject) => number;
  /**
   * What the first delete of one object does in place of the usual mark (a CRD: finalizer and condition). The object stays until a controller
   * ends it. A delete of a collection does not call it. Mutates.
   */
  readonly markForDeletion?: (object: ApiObject, now: Date) => void;
  /** Custom kinds: the CRD is being deleted, and no object may be created. */
  readonly terminating?: boolean;
  /** Warning of a delete that leaves the propagationPolicy to the default. */
  readonly propagationWarning?: string;
  /** What a delete without an explicit propagationPolicy does with dependents. Default `Background`. `Unsupported`: none has any. */
  readonly defaultPropagation?: 'Background' | 'Foreground' | 'Orphan' | 'Unsupported';
  /**
   * Structural defaults come from the schema's `default`s; this adds those that depend on other fields. Built-in kinds first bring the object
   * into the form of the server's own types (see `shape.ts`), so that quantities are canonical and nulls gone. Mutates.
   * @throws DecodeError (a StatusError 400) of a built-in kind when a value has the wrong type
   */
  readonly setDefaults?: (object: ApiObject) => void;
  /** Defaults that a new object has only once it was stored and read again. Validation does not see them. Mutates. */
  readonly defaultsOnRead?: (object: ApiObject) => void;
  /** Drops what a client may not set (status on create, …) and fills what the server sets. Mutates. */
  readonly prepareForCreate?: (object: ApiObject, context: StrategyContext) => void;
  readonly prepareForUpdate?: (object: ApiObject, old: ApiObject, context: StrategyContext) => void;
  /** Causes of a 422 beyond what the schema says; [] when fine. */
  readonly validate?: (object: ApiObject, context: StrategyContext) => StatusCause[];
  /** Every cause that an update gives: those of the new object as well as those of the change. */
  readonly validateUpdate?: (object: ApiObject, old: ApiObject, context: StrategyContext) => StatusCause[];
  /** What is said of an object that is accepted and unwise, in `Warning` headers; `old` is absent at a creation. */
  readonly warnings?: (object: ApiObject, old: ApiObject | undefined) => string[];
  readonly validateName?: (name: string) => string[];
  /** Only the general rules validate the metadata of a new object, and only when `validate` finds nothing. */
  readonly judgesMetaLast?: boolean;
}

/** `group/plural`, unique among served resources of one version. */
export const resourceId = (kind: Pick<KindDefinition, 'group' | 'plural'>): string => `${kind.group}/${kind.plural}`;

/** `v1` or `group/version`. */
export const apiVersionOf = (kind: Pick<KindDefinition, 'group' | 'version'>): string =>
  kind.group === '' ? kind.version : `${kind.group}/${kind.version}`;

/** The body of a kind as plain JSON, for code that walks it. */
export const bodyOf = (object: ApiObject): JsonObject => object as unknown as JsonObject;
