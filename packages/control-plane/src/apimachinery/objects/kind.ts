import type { ApiObject, JsonObject } from './object.ts';
import type { StatusCause } from './status.ts';

/**
 * A JSON schema in the dialect of `apiextensions.k8s.io/v1` (`JSONSchemaProps`), with its `x-kubernetes-*` extensions.
 * Built-in kinds use the same dialect. For strategic merge patches they also have `x-kubernetes-patch-merge-key` and
 * `x-kubernetes-patch-strategy`. Built-in schemas are graphs. A shared definition (`io.k8s.api.core.v1.PodSpec`) is one
 * object with its name as `$id`. A definition may contain itself, as JSONSchemaProps does. A function that visits a
 * schema must stop at the depth of the data, or cache its results by schema object. In a document with references, write `$id` as a reference.
 */
export interface JsonSchema {
  /** Name of a shared definition, for example `io.k8s.api.core.v1.PodSpec`. */
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

/** A column of `kubectl get`. A column of a custom kind has a JSON path, and a column of a built-in kind has a function. */
export interface PrinterColumn {
  /**
   * If `hidden` is true, the rows have a cell for this column, but the Table does not define the column. The real
   * server does the same.
   */
  readonly hidden?: boolean;
  readonly name: string;
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'date';
  readonly format?: string;
  readonly description?: string;
  readonly priority?: number;
  readonly jsonPath?: string;
  /**
   * Returns the value of the cell, for built-in kinds. A `date` column returns an RFC 3339 time, which the table printer
   * converts to an age.
   */
  readonly value?: (object: ApiObject, now: Date) => string | number | bigint | boolean | null;
}

/** The input of a strategy that prepares or validates an object. */
export interface StrategyContext {
  readonly now: Date;
  /** The subresource, for example `status`, or '' for the main resource. */
  readonly subresource: string;
  readonly userName: string;
  /** Whether the request is a dry run, which does not store the object. */
  readonly dryRun?: boolean;
  /** The stored objects of a resource, such as `networking.k8s.io/servicecidrs`. */
  readonly stored?: (resource: string) => readonly ApiObject[];
  readonly newUid: () => string;
}

/**
 * The definition of one kind: its names, its schema, and the functions that prepare and validate its objects. Each
 * built-in kind, or small family of kinds, has a file with its definition. Each version of a CRD is converted to a
 * definition.
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
  /**
   * Verbs of the main resource. By default, `verbs` is create, delete, deletecollection, get, list, patch, update,
   * watch.
   */
  readonly verbs?: readonly string[];
  /**
   * Schema of the whole object. If `schema` is absent, the kind has no schema, and all fields are kept. Custom kinds
   * are validated with their schema. The schema of a built-in kind defines only fields, merge keys and list types.
   * `setDefaults`, `validate` and `validateUpdate` check the values of built-in kinds.
   */
  readonly schema?: JsonSchema;
  /** Built-in kinds: name of the client model from which the schema was generated, for example `V1Pod`. */
  readonly model?: string;
  /**
   * Whether this is a custom kind. Unknown fields of custom kinds are pruned by the schema, and some responses differ from
   * those for built-in kinds.
   */
  readonly custom: boolean;
  /**
   * Whether the server sets `metadata.generation`, and increments it when the spec (everything except metadata and status)
   * changes.
   */
  readonly hasGeneration?: boolean;
  readonly subresources?: {
    /**
     * Whether the kind has a status subresource. With a status subresource, writes to the main resource do not change
     * `status`. Writes to the status change only `status`.
     */
    readonly status?: boolean;
    readonly scale?: {
      readonly specReplicasPath: string;
      readonly statusReplicasPath: string;
      readonly labelSelectorPath?: string;
    };
  };
  /**
   * Whether a change between an empty and an absent list or map increments the generation (`reflect.DeepEqual` in
   * Kubernetes).
   */
  readonly generationTellsEmpty?: boolean;
  /** Metadata fields of Deployments and EndpointSlices that also increment the generation when they change. */
  readonly generationCounts?: 'annotations' | 'labels';
  /** Whether a change of a field that the server then drops also changes the generation. */
  readonly generationCountsDropped?: boolean;
  /** Other subresources by name (binding, eviction, token, approval, …): see registry/subresources/find.ts. */
  readonly otherSubresources?: readonly string[];
  readonly columns?: readonly PrinterColumn[];
  /** Annotations that are fields in the internal form of the object. Tables and metadata-only answers omit them. */
  readonly innerAnnotations?: readonly string[];
  /** The conditions of the row of an object in a Table. If absent or empty, the row has no conditions. */
  readonly rowConditions?: (object: ApiObject) => readonly JsonObject[];
  /** Functions that return the value of a field, for field selectors other than `metadata.name` and `metadata.namespace`. */
  readonly selectableFields?: Readonly<Record<string, (object: ApiObject) => string>>;
  /**
   * Selectable fields of other versions of the kind. The server stores them with each object, but this version has no field
   * selectors for them.
   */
  readonly otherFields?: Readonly<Record<string, (object: ApiObject) => string>>;
  /**
   * The stored kind and the conversions, for a kind whose objects are stored as another kind. For example, the Events
   * of `events.k8s.io` are stored as core Events. Both conversions take a whole object, may mutate this object, and
   * return the result.
   */
  readonly storedAs?: {
    readonly resource: string;
    readonly encode: (object: ApiObject) => ApiObject;
    readonly decode: (object: ApiObject) => ApiObject;
  };
  /** For a deprecated version: the warning that every response contains. */
  readonly deprecationWarning?: string;
  /** The versions of a custom kind, including versions that the server does not serve. */
  readonly versions?: readonly string[];
  /** The storage version of a custom kind, if it differs from this version. */
  readonly storageVersion?: string;
  /** Whether a PUT without a resourceVersion is refused (custom kinds, leases). */
  readonly requiresResourceVersion?: boolean;
  /** Whether a PUT creates an object that does not exist (leases). */
  readonly createOnUpdate?: boolean;
  /**
   * The default grace period of a delete in seconds. With a grace period of 0, the object is deleted at once. Pods have
   * a grace period of 30 seconds, or the period in their spec.
   */
  readonly gracePeriodSeconds?: (object: ApiObject) => number;
  /**
   * Replaces the default marking at the first delete request. For example, a deleted CRD gets a finalizer and exists
   * until a controller removes the finalizer. A delete of a collection does not call this function. Mutates the object.
   */
  readonly markForDeletion?: (object: ApiObject, now: Date) => void;
  /** For custom kinds: whether the CRD is being deleted. During the deletion of the CRD, no object may be created. */
  readonly terminating?: boolean;
  /** The warning for a delete without a propagationPolicy. */
  readonly propagationWarning?: string;
  /** The default propagationPolicy for dependents; `Background` if absent. `Unsupported`: the kind has no dependents. */
  readonly defaultPropagation?: 'Background' | 'Foreground' | 'Orphan' | 'Unsupported';
  /**
   * Sets defaults that depend on other fields. The schema contains the defaults that depend on no other field. Built-in
   * kinds first convert the object to the form of the types of the real server (see `shape.ts`): quantities become
   * canonical, and nulls are removed. Mutates the object.
   * @throws DecodeError (a StatusError 400) for a built-in kind when a value has the wrong type
   */
  readonly setDefaults?: (object: ApiObject) => void;
  /** Changes the stored JSON text of an object for responses. A write uses the unchanged text. */
  readonly shownAs?: (text: string) => string;
  /**
   * Sets defaults when an object is stored or read. Validation does not see these defaults. Mutates the object.
   * `defaultsOnRead` returns whether it set a default.
   */
  readonly defaultsOnRead?: (object: ApiObject) => boolean;
  /**
   * Prepares an object for its creation: removes fields that a client may not set, such as the status, and sets fields of
   * the server. Mutates the object.
   */
  readonly prepareForCreate?: (object: ApiObject, context: StrategyContext) => void;
  readonly prepareForUpdate?: (object: ApiObject, old: ApiObject, context: StrategyContext) => void;
  /** Returns the causes of a 422 error in addition to the causes of the schema. */
  readonly validate?: (object: ApiObject, context: StrategyContext) => StatusCause[];
  /** Returns all validation errors of an update. The result includes the errors of the new object and of the change. */
  readonly validateUpdate?: (object: ApiObject, old: ApiObject, context: StrategyContext) => StatusCause[];
  /** Returns the texts of `Warning` headers for a valid object. `old` is absent for a creation. */
  readonly warnings?: (object: ApiObject, old: ApiObject | undefined) => string[];
  readonly validateName?: (name: string) => string[];
  /**
   * If `assessesMetaLast` is true, only the general rules validate the metadata of a new object, and only if `validate`
   * finds no cause.
   */
  readonly assessesMetaLast?: boolean;
}

/** Returns the ID of a resource: `group/plural`. The ID is unique among the served resources of one version. */
export const resourceId = (kind: Pick<KindDefinition, 'group' | 'plural'>): string => `${kind.group}/${kind.plural}`;

/** Returns the API version: `v1` or `group/version`. */
export const apiVersionOf = (kind: Pick<KindDefinition, 'group' | 'version'>): string =>
  kind.group === '' ? kind.version : `${kind.group}/${kind.version}`;
